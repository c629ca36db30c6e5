/**
 * Limits how many calls wait for third-party servers, such as issuers, at the same time. It does not replace the concurrency limit of the
 * process: a waiting call holds a slot there too. Third-party servers answer as slowly as they like, so waiting calls get only a share of
 * these slots.
 */
import { unavailable } from "../../lib/errors.ts";

export interface WaitLimit {
  /**
   * @param server the server that the work waits for
   * @throws UNAVAILABLE at once, without starting the work, while the limit is reached
   */
  wait<T>(server: string, work: () => Promise<T>): Promise<T>;
}

export interface WaitLimitOptions {
  /** The concurrency limit of the process, of which waiting calls get a share. */
  readonly maxConcurrentCalls: number;
  /**
   * Servers that the operator named. They do not count against the share of all servers, so that no other server keeps
   * people from signing in.
   */
  readonly trusted: ReadonlySet<string>;
}

/** The share of all calls that may wait, for all servers together. */
const SHARE_OF_ALL = 1 / 8;
/** The share of the waiting calls that may wait for the same server. */
const SHARE_OF_ONE = 1 / 4;

export function createWaitLimit({ maxConcurrentCalls, trusted }: WaitLimitOptions): WaitLimit {
  const maxWaits = atLeastOne(maxConcurrentCalls * SHARE_OF_ALL);
  const maxWaitsPerServer = atLeastOne(maxWaits * SHARE_OF_ONE);
  const waiting = new Map<string, number>();
  let untrusted = 0;

  function count(server: string, change: 1 | -1): void {
    const left = (waiting.get(server) ?? 0) + change;
    if (left === 0) waiting.delete(server);
    else waiting.set(server, left);
    if (!trusted.has(server)) untrusted += change;
  }

  return {
    async wait(server, work) {
      if ((waiting.get(server) ?? 0) >= maxWaitsPerServer || (!trusted.has(server) && untrusted >= maxWaits))
        throw unavailable("too many calls wait for third-party servers; try again shortly");
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
