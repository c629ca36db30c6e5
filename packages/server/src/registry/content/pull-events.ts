/** Collects the events of pulls and writes them together, so that a pull does not wait for a commit. Those of the last moment are lost with the process. */
import type { Store } from "../../db/store.ts";
import type { Log } from "../../lib/log.ts";
import { appendPulls, type Pull, type RegistryNames } from "./oci-events.ts";

/** With SQLite the pulls of that time are written while no other is served, so it is short; and a commit waits for the disk, so it is not shorter. */
const FLUSH_MS = 100;
/** Of one transaction. */
const BATCH = 5000;
/** Of one statement. */
const ROWS = 500;
/** While the database does not take them. More than that are dropped: pulls go on. */
const MAX_WAITING = 20_000;

export interface PullEventsOptions {
  readonly store: Store;
  readonly names: RegistryNames;
  readonly log: Log;
}

export class PullEvents implements AsyncDisposable {
  readonly #options: PullEventsOptions;
  #waiting: Pull[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(options: PullEventsOptions) {
    this.#options = options;
  }

  record(pull: Pull): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(pull);
    this.#timer ??= this.#later();
  }

  /** Resolves when all that was recorded before is written, or could not be. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // What came after the one under way began is not in it.
    await this.#flushing;
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
      if (this.#waiting.length > 0) this.#timer ??= this.#later();
    });
    return this.#flushing;
  }

  #later(): NodeJS.Timeout {
    return setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Only what is there now: under load something always comes meanwhile, and it would be a commit for a few pulls, without an end. */
  async #write(): Promise<void> {
    const { store, names, log } = this.#options;
    for (let left = this.#waiting.length; left > 0; ) {
      const batch = this.#waiting.slice(0, Math.min(left, BATCH));
      try {
        await store.transaction(async (db) => {
          for (let start = 0; start < batch.length; start += ROWS) await appendPulls(db, batch.slice(start, start + ROWS), names);
        });
      } catch (error) {
        log.error({ err: error, waiting: this.#waiting.length }, "the events of pulls could not be written");
        return;
      }
      this.#waiting = this.#waiting.slice(batch.length);
      left -= batch.length;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
  }
}
