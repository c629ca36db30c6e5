/**
 * Limits how many sign-ins anonymous callers may start per time window, first of each remote address, then of all. Each
 * start leaves a row until it expires, so this bounds the stored rows.
 */
import type { IsProxy } from "../http/proxy-addresses.ts";
import { networkOf } from "../http/remote-network.ts";
import type { Clock } from "../lib/clock.ts";
import { SignInRefusal } from "./refusal.ts";

export interface StartLimit {
  /**
   * Counts one more start.
   * @returns takes the start back, if its window is still open
   * @throws SignInRefusal if the limit of the address or of all addresses is reached
   */
  take(remoteAddress: string | undefined): () => void;
}

export interface StartLimitOptions {
  readonly clock: Clock;
  readonly maxStarts: number;
  readonly windowMs: number;
  /** Whether the address is a reverse proxy's, behind which all people are: only the limit of all addresses holds for it. */
  readonly isProxy: IsProxy;
}

/** The part of all starts that one address may have. */
const SHARE_OF_ONE = 1 / 8;

export function createStartLimit({ clock, maxStarts, windowMs, isProxy }: StartLimitOptions): StartLimit {
  const maxOfOne = Math.max(1, Math.floor(maxStarts * SHARE_OF_ONE));
  // Has at most as many entries as there were starts.
  const startsOf = new Map<string, number>();
  let started = 0;
  let until = 0;

  function openWindow(now: number): void {
    startsOf.clear();
    started = 0;
    until = now + windowMs;
  }

  function count(network: string, starts: 1 | -1): void {
    startsOf.set(network, (startsOf.get(network) ?? 0) + starts);
    started += starts;
  }

  return {
    take(remoteAddress) {
      const now = clock.now().getTime();
      // A window that ends later than it can began before the clock was corrected.
      if (now >= until || until - now > windowMs) openWindow(now);
      const window = until;
      const network = networkOf(remoteAddress);
      const isShared = remoteAddress !== undefined && isProxy(remoteAddress);
      if (!isShared && (startsOf.get(network) ?? 0) >= maxOfOne)
        throw refuse("Too many people are signing in from your network at this moment.");
      if (started >= maxStarts) throw refuse("Too many people are signing in at this moment.");
      count(network, 1);
      return () => {
        if (until === window) count(network, -1);
      };
    },
  };
}

function refuse(why: string): SignInRefusal {
  return new SignInRefusal(429, `${why} Wait a minute and try again.`);
}
