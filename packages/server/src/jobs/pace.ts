/** Pacing of work that nobody waits for: after each part of it, others have the database and the process for a while. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../db/store.ts";

const MAX_PAUSE_MS = 1000;

/** Runs a part of the work, then pauses. @throws the reason of the signal, before the part begins, if the work is to stop */
export type Pace = <T>(part: () => Promise<T>) => Promise<T>;

export interface PaceOptions {
  /** The length of a pause, as a multiple of the time that the part took. */
  readonly pauseFactor: number;
  readonly signal?: AbortSignal | undefined;
}

export function createPace({ pauseFactor, signal }: PaceOptions): Pace {
  return async (part) => {
    signal?.throwIfAborted();
    const begun = performance.now();
    const value = await part();
    const pauseMs = Math.min(pauseFactor * (performance.now() - begun), MAX_PAUSE_MS);
    await sleep(pauseMs, undefined, { ...(signal && { signal }) }).catch(() => {});
    return value;
  };
}

/** The store with a pause after each transaction. */
export function pacedStore(store: Store, pace: Pace): Store {
  return {
    dialect: store.dialect,
    reader: store.reader,
    transaction: (work, options) => pace(() => store.transaction(work, options)),
    snapshot: (work) => store.snapshot(work),
    ping: () => store.ping(),
    usage: () => store.usage(),
    // The store is closed by its owner.
    async [Symbol.asyncDispose]() {},
  };
}
