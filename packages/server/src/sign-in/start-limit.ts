/**
 * Limits how many sign-ins anonymous callers may start per time window. Each leaves a row until it expires, so this
 * bounds the stored rows.
 */
import type { Clock } from "../lib/clock.ts";
import { SignInRefusal } from "./refusal.ts";

export interface StartLimit {
  /**
   * Counts one more start.
   * @throws SignInRefusal if the limit is reached
   */
  take(): void;
}

export function createStartLimit(clock: Clock, maxStarts: number, windowMs: number): StartLimit {
  let started = 0;
  let until = 0;
  return {
    take() {
      const now = clock.now().getTime();
      if (now >= until) {
        started = 0;
        until = now + windowMs;
      }
      if (started >= maxStarts) throw new SignInRefusal(429, "Too many people are signing in at this moment. Wait a minute and try again.");
      started++;
    },
  };
}
