/**
 * The part of a backlog that a server may claim: servers that share a database have as many healthy queues each. A queue
 * that nobody claims for a while is for any server, because the others may be frozen or have no capacity.
 */
import { sql } from "kysely";
import { countServers } from "../../db/servers.ts";
import type { Store } from "../../db/store.ts";
import type { Lease } from "../../jobs/lease.ts";

/** How long the number of servers is remembered. */
const COUNT_MS = 1000;
/** Queues per server from which on no server leaves any to the others: all of them find enough. */
const MANY_QUEUES = 64;

export interface ServerShare {
  /** Healthy queues that this server may have in addition now. Infinity with one server and for a large backlog. */
  read(now: string): Promise<number>;
}

export function createServerShare(store: Store, lease: Lease): ServerShare {
  let servers = 1;
  let countedAt = Number.NEGATIVE_INFINITY;
  return {
    async read(now) {
      if (performance.now() - countedAt > COUNT_MS) {
        servers = await countServers(store.reader);
        countedAt = performance.now();
      }
      if (servers === 1) return Number.POSITIVE_INFINITY;
      const most = servers * MANY_QUEUES;
      const { busy, own } = await countQueues(store, { holder: lease.holder, now, most });
      return busy === most ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(busy / servers) - own);
    },
  };
}

interface CountedQueues {
  /** Queues that are due or that a server has, at most `most`. */
  readonly busy: number;
  /** Those of them that this server has. */
  readonly own: number;
}

async function countQueues(
  { reader }: Store,
  { holder, now, most }: { holder: string; now: string; most: number },
): Promise<CountedQueues> {
  const busy = reader
    .selectFrom("subscription_queue")
    .select(["lease_holder", "lease_time"])
    .where("next_time", "<=", now)
    .where("pause_time", "is", null)
    .where("failures", "=", 0)
    .limit(most)
    .as("q");
  const isOwn = sql<number>`case when lease_holder = ${holder} and lease_time is not null then 1 end`;
  const counts = reader.selectFrom(busy).select(({ fn }) => [fn.countAll<number>().as("busy"), fn.count<number>(isOwn).as("own")]);
  const { busy: all, own } = await counts.executeTakeFirstOrThrow();
  return { busy: Number(all), own: Number(own) };
}
