/**
 * Limits wrong passwords of pull tokens: per remote address and user name, so that one misconfigured machine does not
 * lock out others behind the same address, and per remote address.
 */
import type { IsProxy } from "../../http/proxy-addresses.ts";
import { networkOf } from "../../http/remote-network.ts";
import type { Clock } from "../../lib/clock.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import { sha256Hex } from "../../lib/sha256.ts";

const WINDOW_MS = 60_000;
const MAX_WRONG_PER_USER_NAME = 20;
const MAX_WRONG_PER_ADDRESS = 200;
/** Limits the memory for callers who have many addresses. */
const MAX_COUNTERS = 100_000;

export interface GuessLimit {
  /** @throws RESOURCE_EXHAUSTED after too many wrong passwords within a minute */
  assertMayTry(user: string, remoteAddress: string | undefined): void;
  recordWrong(user: string, remoteAddress: string | undefined): void;
}

/** @param isProxy whether the address is a reverse proxy's, behind which all callers are; it has no limit */
export function createGuessLimit(clock: Clock, isProxy: IsProxy): GuessLimit {
  const wrongOfUser = new Lru<string, number>(MAX_COUNTERS);
  const wrongOfAddress = new Lru<string, number>(MAX_COUNTERS);
  let until = 0;

  function openWindow(now: number): void {
    wrongOfUser.clear();
    wrongOfAddress.clear();
    until = now + WINDOW_MS;
  }
  const isExempt = (address: string | undefined) => address === undefined || isProxy(address);
  // User names come from anonymous callers and can be long.
  const userKey = (user: string, network: string) => sha256Hex(`${network}\n${user}`);

  return {
    assertMayTry(user, remoteAddress) {
      if (isExempt(remoteAddress)) return;
      const now = clock.now().getTime();
      if (now >= until) openWindow(now);
      const network = networkOf(remoteAddress);
      const isOver =
        (wrongOfUser.get(userKey(user, network)) ?? 0) >= MAX_WRONG_PER_USER_NAME ||
        (wrongOfAddress.get(network) ?? 0) >= MAX_WRONG_PER_ADDRESS;
      if (isOver)
        throw resourceExhausted(
          "too many wrong passwords of pull tokens from your address; wait a minute",
          Math.ceil((until - now) / 1000),
        );
    },
    recordWrong(user, remoteAddress) {
      if (isExempt(remoteAddress)) return;
      const network = networkOf(remoteAddress);
      increment(wrongOfUser, userKey(user, network));
      increment(wrongOfAddress, network);
    },
  };
}

function increment(counts: Lru<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
