/** Makes deliveries pending again, and queues due. Where there are very many deliveries, piece by piece: nobody else who writes shall wait for long. */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";

/** So many go in one transaction. */
const PIECE = 500;

/** What was redelivered so far. */
export interface Progress {
  readonly count: number;
  /** The last position that was looked at. */
  readonly after: number;
}

export interface Redelivery {
  /** All but the last piece, each in a transaction of its own. Who is cut short can begin again. @param since only what was to be sent from then on */
  begin(subscriptionUid: string, since: string, now: Date): Promise<Progress>;
  /** The last piece. @returns how many there were in all */
  finish(db: WriteDb, subscriptionUid: string, since: string, now: Date, progress: Progress): Promise<number>;
}

export function createRedelivery(store: Store, piece = PIECE): Redelivery {
  return {
    async begin(uid, since, now) {
      let progress: Progress = { count: 0, after: 0 };
      while ((await readFailed(store.reader, uid, progress.after, piece + 1)).length > piece) {
        const { after, count } = progress;
        progress = await store.transaction((db) => redeliverFailed(db, uid, since, now, { after, count }, piece));
      }
      return progress;
    },
    finish: async (db, uid, since, now, progress) => (await redeliverFailed(db, uid, since, now, progress, piece)).count,
  };
}

function readFailed(db: ReadDb, uid: string, after: number, limit: number) {
  return db
    .selectFrom("delivery")
    .select(["position", "create_time"])
    .where("subscription_uid", "=", uid)
    .where("state", "=", "failed")
    .where("position", ">", after)
    .orderBy("position")
    .limit(limit)
    .execute();
}

async function redeliverFailed(
  db: WriteDb,
  uid: string,
  since: string,
  now: Date,
  { count, after }: Progress,
  limit: number,
): Promise<Progress> {
  const failed = await readFailed(db, uid, after, limit);
  const positions = failed.filter((row) => row.create_time >= since).map((row) => row.position);
  const done = await makePending(db, uid, positions, now);
  return { count: count + done, after: failed.at(-1)?.position ?? after };
}

/** One event, whatever became of it. @returns how many deliveries it is: one or none */
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

/** They begin anew, so that they have as many attempts and as long as any. What the last attempt came to stays to be seen until there is another. */
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
  await makeDue(db, uid, now);
  return Number(numUpdatedRows);
}

/** After the deliveries, as publish.ts does it: who releases a queue locks it first and then looks for what is pending. */
async function makeDue(db: WriteDb, uid: string, now: Date): Promise<void> {
  const query = db.selectFrom("subscription_queue").select(["next_time", "hold_time"]).where("subscription_uid", "=", uid);
  const queue = await db.dialect.forUpdate(query).executeTakeFirst();
  if (queue === undefined) return;
  const time = [now.toISOString(), queue.hold_time ?? ""].toSorted().at(-1) as string;
  if (queue.next_time !== null && queue.next_time <= time) return;
  await db.updateTable("subscription_queue").set({ next_time: time }).where("subscription_uid", "=", uid).execute();
}

/** Ends a pause, and what a queue or its deliveries wait for: what is pending is due. */
export async function resumeQueue(db: WriteDb, uid: string, now: Date): Promise<void> {
  const time = now.toISOString();
  // Few: what was tried before. It begins anew also where it is due, or the next failure would give it up. The rest was never tried, however much it is.
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
  const isWell = queue?.failures === 0 && queue.hold_time === null && queue.pause_time === null;
  // A server that knows the queue as failing would say so again when it gives it back, so it loses it.
  const well = {
    hold_time: null,
    failures: 0,
    failing_time: null,
    pause_time: null,
    pause_reason: "",
    lease_holder: null,
    lease_time: null,
  };
  await db
    .updateTable("subscription_queue")
    .set({ next_time: isEmpty ? null : time, ...(isWell ? {} : well) })
    .where("subscription_uid", "=", uid)
    .execute();
}
