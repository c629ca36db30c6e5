/** A clock that stands still until a test moves it. */
import type { Clock } from "../../src/lib/clock.ts";

export interface ManualClock extends Clock {
  advance(ms: number): void;
  moveTo(time: Date): void;
  /**
   * Moves it to the system's time if it lags. Call it before another program signs a token: on a slow machine, the tests of a file take
   * longer than the server tolerates.
   */
  catchUp(): void;
}

/** The server refuses tokens that are issued more than 60 s after the time of its clock. */
const MAX_LAG_MS = 30_000;

export function createManualClock(start = new Date("2030-01-01T00:00:00.000Z")): ManualClock {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now = new Date(now.getTime() + ms);
    },
    moveTo(time) {
      now = time;
    },
    catchUp() {
      const time = new Date();
      if (time.getTime() - now.getTime() > MAX_LAG_MS) now = time;
    },
  };
}
