/** How many things strangers may begin that this server keeps: what is begun ends by itself after a while, so this bounds what is kept. */
import type { Clock } from "../lib/clock.ts";
import { SignInRefusal } from "./refusal.ts";

export interface StartLimit {
  /** Counts one more. @throws SignInRefusal where there were too many */
  take(): void;
}

export function createStartLimit(clock: Clock, most: number, windowMs: number): StartLimit {
  let begun = 0;
  let until = 0;
  return {
    take() {
      const now = clock.now().getTime();
      if (now >= until) {
        begun = 0;
        until = now + windowMs;
      }
      if (begun >= most) throw new SignInRefusal(429, "Too many people are signing in at this moment. Wait a minute and try again.");
      begun++;
    },
  };
}
