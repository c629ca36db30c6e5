/**
 * How many calls may wait for servers of others at once. Such a server takes as long as it likes, and each call that waits for it is one of
 * the calls that Holt takes at all: without a limit of their own they could be all of them.
 */
import { unavailable } from "../../lib/errors.ts";

export interface WaitLimit {
  /**
   * @param server whom the work waits for
   * @throws UNAVAILABLE at once, without beginning the work, where as many wait as may
   */
  wait<T>(server: string, work: () => Promise<T>): Promise<T>;
}

export interface WaitLimitOptions {
  readonly maxConcurrentCalls: number;
  /** Servers that the operator named. They do not count among all, so that nobody else's keeps people from signing in. */
  readonly trusted: ReadonlySet<string>;
}

/** Of the calls, for all servers together; and of these, for any one server. */
const SHARE_OF_ALL = 1 / 8;
const SHARE_OF_ONE = 1 / 4;

export function createWaitLimit({ maxConcurrentCalls, trusted }: WaitLimitOptions): WaitLimit {
  const most = atLeastOne(maxConcurrentCalls * SHARE_OF_ALL);
  const mostOfOne = atLeastOne(most * SHARE_OF_ONE);
  const waiting = new Map<string, number>();
  let strangers = 0;

  function count(server: string, change: 1 | -1): void {
    const left = (waiting.get(server) ?? 0) + change;
    if (left === 0) waiting.delete(server);
    else waiting.set(server, left);
    if (!trusted.has(server)) strangers += change;
  }

  return {
    async wait(server, work) {
      if ((waiting.get(server) ?? 0) >= mostOfOne || (!trusted.has(server) && strangers >= most))
        throw unavailable("too many calls wait for servers of others; try again shortly");
      count(server, 1);
      try {
        return await work();
      } finally {
        count(server, -1);
      }
    },
  };
}

function atLeastOne(share: number): number {
  return Math.max(1, Math.floor(share));
}
