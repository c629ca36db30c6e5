/** Measures work in the background: the most CPU time that the main thread spends without letting others run. */
import { collectGarbage } from "./garbage.ts";

export interface TurnMeter extends Disposable {
  /** In milliseconds. */
  readonly longestMs: number;
}

export function startTurnMeter(): TurnMeter {
  // Collection must not remove objects of the test in the meantime.
  collectGarbage();
  let last = process.threadCpuUsage();
  let longest = 0;
  const endTurn = () => {
    const now = process.threadCpuUsage();
    longest = Math.max(longest, now.user + now.system - last.user - last.system);
    last = now;
  };
  const timer = setInterval(endTurn, 1);
  return {
    get longestMs() {
      // The turn that ended the work counts, too.
      endTurn();
      return longest / 1000;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
