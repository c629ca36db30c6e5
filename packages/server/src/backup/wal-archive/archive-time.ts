/** The time that an archive records. Its names sort by it, so it never goes back, even if the clock of the server does. */
import type { Clock } from "../../lib/clock.ts";

export class ArchiveTime {
  readonly #clock: Clock;
  #latest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** In milliseconds since 1970: the time of the clock, or the latest one so far. */
  now(): number {
    this.#latest = Math.max(this.#latest, this.#clock.now().getTime());
    return this.#latest;
  }

  /** Continues behind what the archive has: an earlier server may have had a clock that was ahead. */
  continueBehind(archived: Iterable<{ readonly time: number }>): void {
    for (const { time } of archived) this.#latest = Math.max(this.#latest, time + 1);
  }
}
