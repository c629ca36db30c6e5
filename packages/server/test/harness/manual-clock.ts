/** A clock that stands still until a test moves it. */
import type { Clock } from "../../src/lib/clock.ts";

export interface ManualClock extends Clock {
  advance(ms: number): void;
  moveTo(time: Date): void;
}

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
  };
}
