/** Finds the queues of subscriptions that have something to send, and claims them. One server at a time sends to a subscription. */
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import { claimFairly, isNotOf, type Slots } from "../../jobs/fair-share.ts";
import { createLease, type Lease } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import { DELIVERY_LEASE_MS } from "../tables.ts";
import type { Health } from "./retry.ts";
import { createServerShare, type Share } from "./server-share.ts";

/** Runs of healthy queues take longer than this only with many deliveries or a slow sink. */
const BEHIND_MS = 500;
/** A queue that nobody claims for this time is for any server. Idle servers are notified, and look for work much sooner. */
const UNCLAIMED_MS = 250;

export interface ClaimedQueue {
  readonly uid: string;
  readonly health: Health;
}

/** Slots for claimed queues: for those whose sink is well, and for those whose last attempt failed. */
export interface Capacity {
  readonly healthy: Slots;
  readonly failing: Slots;
}

export interface Due {
  /** Whether there is a queue to claim. */
  readonly isDue: boolean;
  /** Whether another server is busy with a healthy queue. Its runs are short, and between two of them nobody has the queue. */
  readonly isBehind: boolean;
  /** When the next queue is due; null for never. */
  readonly next: string | null;
}

/** The limits of one claim. */
export interface ClaimLimits {
  /** Maximum number of queues of each kind. */
  readonly most: number;
  /** Limits the healthy queues, except for those that no server has claimed for a while. */
  readonly share: Pick<Share, "queues" | "hasUnlimited">;
}

const UNLIMITED: ClaimLimits = { most: Number.POSITIVE_INFINITY, share: { queues: Number.POSITIVE_INFINITY, hasUnlimited: true } };

/** Queues of one kind, with slots for them. */
interface Wanted {
  readonly failures: "=" | ">";
  readonly slots: Slots;
  readonly limit: number;
  readonly dueBy: string;
}

export interface Queues {
  readonly lease: Lease;
  look(): Promise<Due>;
  /** Reads how many more queues this server may have; the others are for servers that share the database. */
  share(): Promise<Share>;
  /** The same, from a read that may be a moment old. */
  recentShare(): Promise<Share>;
  /** Whether this server has more than its share, from a read that may be a moment old. */
  isShareExceeded(): Promise<boolean>;
  /** Takes the slots of the queues that it claims. */
  claim(capacity: Capacity, limits?: ClaimLimits): Promise<ClaimedQueue[]>;
}

export function createQueues(store: Store, clock: Clock): Queues {
  const lease = createLease({ store, clock, table: "subscription_queue", key: "subscription_uid", durationMs: DELIVERY_LEASE_MS });
  const serverShare = createServerShare(store, lease);
  const now = (agoMs = 0) => new Date(clock.now().getTime() - agoMs).toISOString();
  const shareTimes = () => ({ now: now(), unclaimedBy: now(UNCLAIMED_MS) });

  async function claimOf(db: WriteDb, { failures, slots, limit, dueBy }: Wanted): Promise<ClaimedQueue[]> {
    const rows = await claimFairly({
      slots,
      limit,
      read: (full, count) =>
        dueQueues(db, failures, dueBy)
          .where(lease.isFree())
          .where(isNotOf(db, full, "subscription_uid"))
          .limit(count)
          .execute(),
      uidOf: (row) => row.subscription_uid,
      claim: (claimed) =>
        lease.claim(
          db,
          claimed.map((row) => row.subscription_uid),
        ),
    });
    return rows.map(({ subscription_uid: uid, ...health }) => ({ uid, health }));
  }

  async function claimHealthy(db: WriteDb, slots: Slots, { most, share }: ClaimLimits): Promise<ClaimedQueue[]> {
    const claimed = await claimOf(db, { failures: "=", slots, limit: Math.min(most, share.queues), dueBy: now() });
    if (share.queues >= most || !share.hasUnlimited) return claimed;
    const unclaimed = { failures: "=", slots, limit: most - claimed.length, dueBy: now(UNCLAIMED_MS) } as const;
    return [...claimed, ...(await claimOf(db, unclaimed))];
  }

  return {
    lease,
    look: () => look(store, lease, clock.now()),
    share: () => serverShare.read(shareTimes()),
    recentShare: () => serverShare.recent(shareTimes()),
    isShareExceeded: () => serverShare.isExceeded(shareTimes()),
    claim: ({ healthy, failing }, limits = UNLIMITED) =>
      store.transaction(async (db) => [
        ...(await claimHealthy(db, healthy, limits)),
        ...(limits.share.hasUnlimited ? await claimOf(db, { failures: ">", slots: failing, limit: limits.most, dueBy: now() }) : []),
      ]),
  };
}

async function look({ reader }: Store, lease: Lease, time: Date): Promise<Due> {
  const now = time.toISOString();
  const late = new Date(time.getTime() - BEHIND_MS).toISOString();
  const queues = reader.selectFrom("subscription_queue").where("pause_time", "is", null);
  const one = sql<number>`1`.as("one");
  const due = queues.where("next_time", "<=", now).where(lease.isFree()).select(one).limit(1);
  const held = queues
    .where("next_time", "<=", late)
    .where("failures", "=", 0)
    .where("lease_holder", "<>", lease.holder)
    .where(lease.isHeld());
  const next = queues.where("next_time", ">", now).select(({ fn }) => fn.min("next_time").as("next"));
  const row = await reader.selectNoFrom([due.as("due"), held.select(one).limit(1).as("held"), next.as("next")]).executeTakeFirstOrThrow();
  return { isDue: row.due !== null, isBehind: row.held !== null, next: row.next };
}

function dueQueues(db: WriteDb, failures: "=" | ">", now: string) {
  const due = db
    .selectFrom("subscription_queue")
    .select(["subscription_uid", "failures", "failing_time", "hold_time", "pause_time", "pause_reason"])
    .where("next_time", "<=", now)
    .where("pause_time", "is", null)
    .where("failures", failures, 0)
    .orderBy("next_time");
  return db.dialect.forClaim(due);
}
