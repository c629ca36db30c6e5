/** Reads what a scrape asks for, at most once at a time and not more often than it may. A slow read does not hold up the scrape. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ReadSamples, Sample } from "../lib/meter.ts";

/** How long a scrape waits for a read. Afterwards it gets the last result, and a later scrape the new one. */
const MAX_WAIT_MS = 2000;

export class Readings {
  readonly #read: ReadSamples;
  readonly #everyMs: number;
  #latest: readonly Sample[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(read: ReadSamples, everyMs: number) {
    this.#read = read;
    this.#everyMs = everyMs;
  }

  async latest(): Promise<readonly Sample[]> {
    if (performance.now() - this.#readAt < this.#everyMs) return this.#latest;
    this.#reading ??= this.#start();
    const timeout = new AbortController();
    await Promise.race([this.#reading, sleep(MAX_WAIT_MS, undefined, { signal: timeout.signal, ref: false }).catch(() => {})]);
    timeout.abort();
    return this.#latest;
  }

  /** Never rejects. The metric is missing while its source fails: an old value would look like a good one. */
  async #start(): Promise<void> {
    try {
      this.#latest = await this.#read();
    } catch {
      this.#latest = [];
    }
    this.#readAt = performance.now();
    this.#reading = undefined;
  }
}
