/** Collects the events of pulls and writes them together, so that a pull does not wait for a commit. Those of the last second are lost with the process. */
import type { Store } from "../db/store.ts";
import type { Log } from "../lib/log.ts";
import { appendPulls, type Pull, type RegistryNames } from "./oci-events.ts";

const FLUSH_MS = 1000;
/** Of one transaction. A commit waits for the disk, so there should be few of them. */
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
    if (this.#waiting.length >= BATCH) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Resolves when all that was recorded before is written, or could not be. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const { store, names, log } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      try {
        await store.transaction(async (db) => {
          for (let start = 0; start < batch.length; start += ROWS) await appendPulls(db, batch.slice(start, start + ROWS), names);
        });
      } catch (error) {
        log.error({ err: error, waiting: this.#waiting.length }, "the events of pulls could not be written");
        this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
        return;
      }
      this.#waiting = this.#waiting.slice(batch.length);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#flushing;
    await this.flush();
    clearTimeout(this.#timer);
  }
}
