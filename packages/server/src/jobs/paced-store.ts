/** A store for work that nobody waits for: after each of its transactions, others have the database and the process for a while. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../db/store.ts";

/** Of a transaction's time. */
const PAUSE_FACTOR = 1;
const MAX_PAUSE_MS = 1000;

/** @param signal its transactions are refused with the reason */
export function pacedStore(store: Store, signal: AbortSignal): Store {
  return {
    dialect: store.dialect,
    reader: store.reader,
    async transaction(work) {
      signal.throwIfAborted();
      const begun = performance.now();
      const value = await store.transaction(work);
      await sleep(Math.min(PAUSE_FACTOR * (performance.now() - begun), MAX_PAUSE_MS));
      return value;
    },
    snapshot: (work) => store.snapshot(work),
    ping: () => store.ping(),
    // It is not this one's to close.
    async [Symbol.asyncDispose]() {},
  };
}
