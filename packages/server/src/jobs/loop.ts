/** Work that is done again and again in the background: when there is something to do, and now and then to see whether there is. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../lib/log.ts";

export interface LoopOptions {
  /** For the log. */
  readonly name: string;
  readonly log: Log;
  /** From the beginning of one step to that of the next, at the least: what comes meanwhile is done together. */
  readonly spacingMs: number;
  /** Answers after how many milliseconds there is more to do, at the latest. */
  step(): Promise<number>;
}

const MAX_PAUSE_MS = 5000;
/** Timers of Node go no further than 24 days, and clocks are put right. */
const MAX_SLEEP_MS = 60_000;

/** Disposing of it waits for the step that is under way. */
export class Loop implements AsyncDisposable {
  readonly #options: LoopOptions;
  readonly #running: Promise<void>;
  #isWoken = false;
  #isClosed = false;
  #ring: () => void = () => {};

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** There may be something to do. Costs next to nothing. */
  wake(): void {
    this.#isWoken = true;
    this.#ring();
  }

  async #run(): Promise<void> {
    for (let pause = 0; !this.#isClosed; ) {
      const begun = performance.now();
      this.#isWoken = false;
      const delay = await this.#step();
      pause = delay === undefined ? Math.min(Math.max(2 * pause, 100), MAX_PAUSE_MS) : 0;
      // Nobody is listened to in this time: a database that is down is not asked by every event, nor one that is up.
      await this.#sleep(Math.max(pause, this.#options.spacingMs - (performance.now() - begun)));
      if (!this.#isWoken) await this.#sleep(Math.min(delay ?? 0, MAX_SLEEP_MS), true);
    }
  }

  async #step(): Promise<number | undefined> {
    const { name, log, step } = this.#options;
    try {
      return await step();
    } catch (error) {
      if (!this.#isClosed) log.error({ err: error }, `${name} failed; it is tried again`);
      return undefined;
    }
  }

  async #sleep(ms: number, mayBeWoken = false): Promise<void> {
    if (ms <= 0 || this.#isClosed) return;
    const alarm = new AbortController();
    this.#ring = () => void ((mayBeWoken || this.#isClosed) && alarm.abort());
    await sleep(ms, undefined, { signal: alarm.signal, ref: false }).catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#ring();
    await this.#running;
  }
}
