/** Makes deliveries pending again and queues due. Many deliveries are changed in chunks, so that other writers do not wait long. */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { RELEASED } from "../../jobs/lease.ts";

/** Deliveries per transaction. */
const CHUNK_SIZE = 500;

/** Progress of a redelivery. */
export interface RedeliveryProgress {
  readonly count: number;
  /** The last position that was looked at. */
  readonly after: number;
}

export interface Redelivery {
  /** All chunks but the last, each in a transaction of its own. Can be repeated if it was interrupted. */
  begin(failed: FailedDeliveries): Promise<RedeliveryProgress>;
  /** The last chunk. @returns the number of deliveries in all chunks */
  finish(db: WriteDb, failed: FailedDeliveries, progress: RedeliveryProgress): Promise<number>;
}

/** The failed deliveries to redeliver. */
export interface FailedDeliveries {
  readonly subscriptionUid: string;
  /** Only deliveries that were created from then on. */
  readonly since: string;
  /** When they become due. */
  readonly now: Date;
}

export function createRedelivery(store: Store, chunkSize = CHUNK_SIZE): Redelivery {
  return {
    async begin(failed) {
      let progress: RedeliveryProgress = { count: 0, after: 0 };
      while ((await readFailed(store.reader, failed, progress.after, chunkSize + 1)).length > chunkSize) {
        const before = progress;
        progress = await store.transaction((db) => redeliverChunk(db, failed, before, chunkSize));
      }
      return progress;
    },
    finish: async (db, failed, progress) => (await redeliverChunk(db, failed, progress, chunkSize)).count,
  };
}

function readFailed(db: ReadDb, { subscriptionUid }: FailedDeliveries, after: number, limit: number) {
  return db
    .selectFrom("delivery")
    .select(["position", "create_time"])
    .where("subscription_uid", "=", subscriptionUid)
    .where("state", "=", "failed")
    .where("position", ">", after)
    .orderBy("position")
    .limit(limit)
    .execute();
}

async function redeliverChunk(
  db: WriteDb,
  failed: FailedDeliveries,
  { count, after }: RedeliveryProgress,
  limit: number,
): Promise<RedeliveryProgress> {
  const { subscriptionUid, since, now } = failed;
  const rows = await readFailed(db, failed, after, limit);
  const positions = rows.filter((row) => row.create_time >= since).map((row) => row.position);
  const changed = await makePending(db, subscriptionUid, positions, now);
  return { count: count + changed, after: rows.at(-1)?.position ?? after };
}

/** Redelivers one event, whatever the state of its delivery is. @returns the number of deliveries: one or none */
export async function redeliverEvent(db: WriteDb, uid: string, eventId: string, now: Date): Promise<number> {
  const rows = await db
    .selectFrom("delivery")
    .select("position")
    .where("event_id", "=", eventId)
    .where("subscription_uid", "=", uid)
    .execute();
  return makePending(
    db,
    uid,
    rows.map((row) => row.position),
    now,
  );
}

/** Attempts are counted anew. The outcome of the last attempt stays visible until the next one. */
async function makePending(db: WriteDb, uid: string, positions: readonly number[], now: Date): Promise<number> {
  if (positions.length === 0) return 0;
  const chosen = db.dialect.rowsOf(
    positions.map((position) => ({ position })),
    { position: "bigint" },
  );
  const { numUpdatedRows } = await db
    .updateTable("delivery")
    .set({ state: "pending", attempts: 0, next_attempt_time: now.toISOString(), first_attempt_time: null })
    .where("subscription_uid", "=", uid)
    .where("position", "in", db.selectFrom(chosen.as("r")).select("r.position"))
    .executeTakeFirstOrThrow();
  await makeQueueDue(db, uid, now);
  return Number(numUpdatedRows);
}

/**
 * Call it after the deliveries were changed, as in publish.ts: a release locks the queue first and reads its
 * pending deliveries afterwards.
 */
async function makeQueueDue(db: WriteDb, uid: string, now: Date): Promise<void> {
  const query = db.selectFrom("subscription_queue").select(["next_time", "hold_time"]).where("subscription_uid", "=", uid);
  const queue = await db.dialect.forUpdate(query).executeTakeFirst();
  if (queue === undefined) return;
  const time = [now.toISOString(), queue.hold_time ?? ""].toSorted().at(-1) as string;
  if (queue.next_time !== null && queue.next_time <= time) return;
  await db.updateTable("subscription_queue").set({ next_time: time }).where("subscription_uid", "=", uid).execute();
}

/** Ends a pause and all waits of a queue and its deliveries: everything pending is due. */
export async function resumeQueue(db: WriteDb, uid: string, now: Date): Promise<void> {
  const time = now.toISOString();
  // Changes the few deliveries that were attempted before, not the many that wait for their first attempt. An attempted
  // delivery that is due changes, too: its next failure would otherwise give it up.
  await db
    .updateTable("delivery")
    .set({
      next_attempt_time: sql`case when next_attempt_time > ${time} then ${time} else next_attempt_time end`,
      attempts: 0,
      first_attempt_time: null,
    })
    .where("subscription_uid", "=", uid)
    .where("state", "=", "pending")
    .where(({ or, eb }) => or([eb("next_attempt_time", ">", time), eb("first_attempt_time", "is not", null)]))
    .execute();
  const query = db.selectFrom("subscription_queue").select(["failures", "hold_time", "pause_time"]).where("subscription_uid", "=", uid);
  const queue = await db.dialect.forUpdate(query).executeTakeFirst();
  const pending = db.selectFrom("delivery").select("position").where("subscription_uid", "=", uid).where("state", "=", "pending");
  const isEmpty = (await pending.limit(1).executeTakeFirst()) === undefined;
  const isHealthy = queue?.failures === 0 && queue.hold_time === null && queue.pause_time === null;
  // The lease is released as well: a server that knows the queue as failing would store that again at the end of its run.
  const healthy = { hold_time: null, failures: 0, failing_time: null, pause_time: null, pause_reason: "", ...RELEASED };
  await db
    .updateTable("subscription_queue")
    .set({ next_time: isEmpty ? null : time, ...(isHealthy ? {} : healthy) })
    .where("subscription_uid", "=", uid)
    .execute();
}

/** Takes the queue from the server that sends its deliveries, which notices it when it records the next outcomes. */
export async function releaseQueue(db: WriteDb, uid: string): Promise<void> {
  await db.updateTable("subscription_queue").set(RELEASED).where("subscription_uid", "=", uid).execute();
}
