/** Lets others run during long computations on the main thread. */
import { setImmediate } from "node:timers/promises";

/** To be called between parts of a computation. Others run if the parts since the last break took long enough. */
export type Break = () => Promise<void>;

export function createBreaks(turnMs: number): Break {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < turnMs) return;
    await setImmediate();
    begun = performance.now();
  };
}
