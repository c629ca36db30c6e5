/** A background loop: runs a step again and again, when it is woken or when the last step said. */
import type { Log } from "../lib/log.ts";

export interface LoopOptions {
  /** What the loop does, for the log: "publishing events". */
  readonly name: string;
  readonly log: Log;
  /** The least time between the beginnings of two steps: work that arrives meanwhile is done together. */
  readonly spacingMs: number;
  /** @returns after how many milliseconds to run the next step, at the latest. It may run earlier */
  step(): Promise<number>;
}

const MAX_BACKOFF_MS = 5000;
/** Timers of Node are limited to 24 days, and a step looks at a clock that may be corrected meanwhile. */
const MAX_SLEEP_MS = 60_000;

/**
 * Makes a step wait for its whole delay, also if that is longer than the longest sleep of a loop. If the loop wakes
 * early, the step only returns the remaining time. A failed step is due again at once.
 * @param now a monotonic clock
 */
export function waitFully(step: LoopOptions["step"], now = () => performance.now()): LoopOptions["step"] {
  let dueAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (now() < dueAt) return dueAt - now();
    const delay = await step();
    dueAt = now() + delay;
    return delay;
  };
}

/** Disposing of the loop waits for the step that is under way. */
export class Loop implements AsyncDisposable {
  readonly #options: LoopOptions;
  readonly #running: Promise<void>;
  #isWoken = false;
  #isClosed = false;
  #interruptSleep: () => void = () => {};

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** There may be something to do. Costs next to nothing. */
  wake(): void {
    this.#isWoken = true;
    this.#interruptSleep();
  }

  async #run(): Promise<void> {
    for (let backoff = 0; !this.#isClosed; ) {
      const begun = performance.now();
      this.#isWoken = false;
      const delay = await this.#step();
      backoff = delay === undefined ? Math.min(Math.max(2 * backoff, 100), MAX_BACKOFF_MS) : 0;
      // Ignores wake-ups while it backs off, so that a database that is down is not hammered, and while it keeps the spacing.
      await this.#sleep(Math.max(backoff, this.#options.spacingMs - (performance.now() - begun)));
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

  /** Uses no signal: aborting one makes an error with a stack, and each write of the server wakes several loops. */
  #sleep(ms: number, mayBeWoken = false): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (ms <= 0 || this.#isClosed) resolve();
    else {
      const timer = setTimeout(resolve, ms).unref();
      this.#interruptSleep = () => {
        if (!mayBeWoken && !this.#isClosed) return;
        clearTimeout(timer);
        resolve();
      };
    }
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#interruptSleep();
    await this.#running;
  }
}
