/** The time that an archive records. Its names sort by it, so it never goes back, also not where the clock of the server does. */
import type { Clock } from "../../lib/clock.ts";
import type { BackupTarget } from "../target.ts";
import { listBases, listSegments } from "./archive-form.ts";

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

  /** Continues behind all times of the archive: an earlier server may have had a clock that was ahead. */
  async continueBehind(target: BackupTarget): Promise<void> {
    const [segments, bases] = await Promise.all([listSegments(target), listBases(target)]);
    for (const { time } of [...segments, ...bases]) this.#latest = Math.max(this.#latest, time + 1);
  }
}
