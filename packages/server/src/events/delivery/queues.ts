/** Finds the queues of subscriptions that have something to send, and claims them. One server at a time sends to a subscription. */
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import { claimFairly, isNotOf, type Slots } from "../../jobs/fair-share.ts";
import { createLease, type Lease } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Health } from "./retry.ts";

const LEASE_MS = 10_000;
/** Runs of healthy queues take longer than this only with many deliveries or a slow sink. */
const BEHIND_MS = 500;

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

export interface Queues {
  readonly lease: Lease;
  look(): Promise<Due>;
  /** Takes the slots of the queues that it claims. @param limit queues of each kind at the most */
  claim(capacity: Capacity, limit?: number): Promise<ClaimedQueue[]>;
}

export function createQueues(store: Store, clock: Clock): Queues {
  const lease = createLease({ store, clock, table: "subscription_queue", key: "subscription_uid", durationMs: LEASE_MS });
  const now = () => clock.now().toISOString();

  async function claimOf(db: WriteDb, failures: "=" | ">", slots: Slots, limit: number): Promise<ClaimedQueue[]> {
    const rows = await claimFairly({
      slots,
      limit,
      read: (full, count) =>
        dueQueues(db, failures, now())
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

  return {
    lease,
    look: () => look(store, lease, clock.now()),
    claim: ({ healthy, failing }, limit = Number.POSITIVE_INFINITY) =>
      store.transaction(async (db) => [...(await claimOf(db, "=", healthy, limit)), ...(await claimOf(db, ">", failing, limit))]),
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
    .where("lease_time", ">=", now);
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
