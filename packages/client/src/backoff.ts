/** Decides when a failed call is repeated. Shared by calls over Connect and over REST. */

export interface RetryOptions {
  /** Attempts of a call in all; default 4. */
  readonly attempts?: number;
  /** The pause before the second attempt; it doubles each time. Default 200 ms. */
  readonly pauseMs?: number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

interface Failure {
  readonly code: string;
  readonly retryDelayMs: number | undefined;
}

/** A server that asks for a longer pause is not asked again. */
const MAX_PAUSE_MS = 30_000;
const TRANSIENT = new Set(["UNAVAILABLE", "RESOURCE_EXHAUSTED"]);

/** @returns a function that waits before the next attempt, or returns false at once if there must not be another */
export function createBackoff({ attempts = 4, pauseMs = 200, sleep = pause }: RetryOptions = {}) {
  return async (attempt: number, { code, retryDelayMs }: Failure, signal: AbortSignal): Promise<boolean> => {
    if (attempt >= attempts || !TRANSIENT.has(code) || (retryDelayMs ?? 0) > MAX_PAUSE_MS) return false;
    // Half of the pause is random, so that clients that failed together do not come back together.
    const own = Math.min(pauseMs * 2 ** (attempt - 1), MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
    await sleep(Math.max(own, retryDelayMs ?? 0), signal);
    return true;
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
