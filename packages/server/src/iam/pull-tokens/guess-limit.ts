/**
 * Limits wrong passwords per remote address, per remote address and user name, and, where people choose the passwords, per
 * user name. So one misconfigured machine does not lock out others behind the same address.
 */
import type { IsProxy } from "../../http/proxy-addresses.ts";
import { networkOf } from "../../http/remote-network.ts";
import type { Clock } from "../../lib/clock.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import { sha256Hex } from "../../lib/sha256.ts";

/** Numbers of wrong passwords per time window. */
export interface GuessPolicy {
  readonly windowMs: number;
  /** Per user name from one address. */
  readonly maxWrongPerUserName: number;
  readonly maxWrongPerAddress: number;
  /** Per user name from all addresses, also from reverse proxies; left out for no limit. */
  readonly maxWrongFromAllAddresses?: number;
  /** Begins the message of the error. */
  readonly refusal: string;
}

/** Passwords of pull tokens are random, so a limit from all addresses would only lock machines out. */
const PULL_TOKEN_GUESSES: GuessPolicy = {
  windowMs: 60_000,
  maxWrongPerUserName: 20,
  maxWrongPerAddress: 200,
  refusal: "too many wrong passwords of pull tokens from your address; wait a minute",
};

/** Limits the memory for callers who have many addresses. */
const MAX_COUNTERS = 300_000;

export interface GuessLimit {
  /** @throws RESOURCE_EXHAUSTED after too many wrong passwords within the window */
  assertMayTry(user: string, remoteAddress: string | undefined): void;
  recordWrong(user: string, remoteAddress: string | undefined): void;
  /**
   * Counts an attempt as wrong before it is checked, so that parallel attempts do not pass beyond the limit.
   * @returns takes the attempt back, for a right password
   * @throws as `assertMayTry`
   */
  take(user: string, remoteAddress: string | undefined): () => void;
}

/** @param isProxy whether the address is a reverse proxy's, behind which all callers are; it has no limit of its own */
export function createGuessLimit(clock: Clock, isProxy: IsProxy, policy = PULL_TOKEN_GUESSES): GuessLimit {
  const { maxWrongPerUserName, maxWrongPerAddress, maxWrongFromAllAddresses = 0 } = policy;
  const wrong = new Lru<string, number>(MAX_COUNTERS);
  let until = 0;

  /** The counters of an attempt and their limits. User names come from anonymous callers and can be long. */
  function countersOf(user: string, address: string | undefined): readonly (readonly [key: string, limit: number])[] {
    const everywhere = [[sha256Hex(`user ${user}`), maxWrongFromAllAddresses] as const].filter(([, limit]) => limit > 0);
    if (address === undefined || isProxy(address)) return everywhere;
    const network = networkOf(address);
    return [...everywhere, [sha256Hex(`both ${network}\n${user}`), maxWrongPerUserName], [`network ${network}`, maxWrongPerAddress]];
  }

  function assertMayTry(user: string, remoteAddress: string | undefined): void {
    const now = clock.now().getTime();
    // A window that ends later than it can began before the clock was corrected.
    if (now >= until || until - now > policy.windowMs) {
      wrong.clear();
      until = now + policy.windowMs;
    }
    const isOver = countersOf(user, remoteAddress).some(([key, limit]) => (wrong.get(key) ?? 0) >= limit);
    if (isOver) throw resourceExhausted(policy.refusal, Math.ceil((until - now) / 1000));
  }

  function count(user: string, remoteAddress: string | undefined, change: 1 | -1): void {
    for (const [key] of countersOf(user, remoteAddress)) wrong.set(key, (wrong.get(key) ?? 0) + change);
  }

  return {
    assertMayTry,
    recordWrong: (user, remoteAddress) => count(user, remoteAddress, 1),
    take(user, remoteAddress) {
      assertMayTry(user, remoteAddress);
      const window = until;
      count(user, remoteAddress, 1);
      return () => {
        if (until === window) count(user, remoteAddress, -1);
      };
    },
  };
}
