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
/** How long a share is remembered for `recent` and `isExceeded`. */
const RECENT_MS = 100;
/** Queues per server from which on no server leaves any to the others: all of them find enough. */
const MANY_QUEUES = 64;

export interface ServerShare {
  /** Reads what this server may claim now. */
  read(times: ShareTimes): Promise<Share>;
  /** The same, from a read that may be a moment old. */
  recent(times: ShareTimes): Promise<Share>;
  /** Whether this server has more than its share. The turns of many runs end together, so that they share the answer. */
  isExceeded(times: ShareTimes): Promise<boolean>;
}

export interface ShareTimes {
  readonly now: string;
  /** Queues that have been due for longer are for any server. */
  readonly unclaimedBy: string;
}

export interface Share {
  /** Healthy queues that this server may have in addition. Infinity with one server and for a large backlog. */
  readonly queues: number;
  /** False if all queues that are due belong to the shares of other servers: then a claim would find nothing. */
  readonly hasSome: boolean;
  /** Whether there may be queues that no share limits: failing ones, and healthy ones that no server has claimed for a while. */
  readonly hasUnlimited: boolean;
  /** Whether this server has more than its share, for instance because another server has started. */
  readonly isExceeded: boolean;
}

const UNLIMITED: Share = { queues: Number.POSITIVE_INFINITY, hasSome: true, hasUnlimited: true, isExceeded: false };

export function createServerShare(store: Store, lease: Lease): ServerShare {
  const servers = remember(COUNT_MS, () => countServers(store.reader));

  async function read(times: ShareTimes): Promise<Share> {
    const count = await servers();
    if (count === 1) return UNLIMITED;
    const most = count * MANY_QUEUES;
    const { busy, own, free, others } = await countQueues(store, lease, { ...times, most });
    if (busy === most) return UNLIMITED;
    const left = Math.ceil(busy / count) - own;
    return { queues: Math.max(0, left), hasSome: others || (free > 0 && left > 0), hasUnlimited: others, isExceeded: left < 0 };
  }

  const recent = remember(RECENT_MS, read);
  return {
    read,
    recent,
    // Runs that end because of an old excess would leave this server less than its share.
    isExceeded: async (times) => (await recent(times)).isExceeded && (await read(times)).isExceeded,
  };
}

/** Reads at most once in this time. Calls during a read share its result, and a failed read is not remembered. */
function remember<A extends unknown[], T>(ms: number, read: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let last: Promise<T> | undefined;
  let readAt = 0;
  return (...args) => {
    if (last !== undefined && performance.now() - readAt <= ms) return last;
    readAt = performance.now();
    last = read(...args);
    last.catch(() => {
      last = undefined;
    });
    return last;
  };
}

interface CountedQueues {
  /** Healthy queues that are due or that a server has, at most `most`. */
  readonly busy: number;
  /** Those of them that this server has. */
  readonly own: number;
  /** Those of them that nobody has. */
  readonly free: number;
  /** Whether there are failing queues, or some that nobody claimed for a while. */
  readonly others: boolean;
}

async function countQueues(
  { reader }: Store,
  lease: Lease,
  { now, unclaimedBy, most }: ShareTimes & { most: number },
): Promise<CountedQueues> {
  const due = reader.selectFrom("subscription_queue").where("next_time", "<=", now).where("pause_time", "is", null);
  const busy = due.select(["lease_holder", "lease_time", "next_time"]).where("failures", "=", 0).limit(most).as("q");
  const failing = due.select(sql`1`.as("one")).where("failures", ">", 0).where(lease.isFree()).limit(1);
  const isFree = lease.isFree();
  const row = await reader
    .selectFrom(busy)
    .select(({ fn }) => [
      fn.countAll<number>().as("busy"),
      fn.count<number>(sql`case when lease_holder = ${lease.holder} and lease_time is not null then 1 end`).as("own"),
      fn.count<number>(sql`case when ${isFree} then 1 end`).as("free"),
      fn.count<number>(sql`case when ${isFree} and next_time <= ${unclaimedBy} then 1 end`).as("unclaimed"),
      // A large backlog is claimed anyway, and searching it would take long.
      sql<number | null>`case when count(*) < ${most} then (${failing}) end`.as("failing"),
    ])
    .executeTakeFirstOrThrow();
  const others = Number(row.unclaimed) > 0 || row.failing !== null;
  return { busy: Number(row.busy), own: Number(row.own), free: Number(row.free), others };
}
