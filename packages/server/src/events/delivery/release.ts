/** Gives queues back at the end of their turns, with how they are doing and when there is more to send. */
import type { WriteDb } from "../../db/store.ts";
import type { Health } from "./retry.ts";

export interface Release {
  readonly uid: string;
  readonly health: Health;
  /** Where the sink took events again after it was in trouble: since when it had been. */
  readonly recoveredSince: string | null;
  /** Where the queue is not to be claimed before this time, for a fault of our own; null for none. */
  readonly notBefore: string | null;
}

/** What a sink in trouble did not take is due at once when it is well. What had failed before the trouble keeps its own pace: its fault may be the event's. */
export async function recover(db: WriteDb, releases: readonly Release[], now: Date): Promise<void> {
  for (const { uid, recoveredSince } of releases) {
    if (recoveredSince === null) continue;
    await db
      .updateTable("delivery")
      .set({ next_attempt_time: now.toISOString() })
      .where("subscription_uid", "=", uid)
      .where("state", "=", "pending")
      .where("next_attempt_time", ">", now.toISOString())
      .where("first_attempt_time", ">=", recoveredSince)
      .execute();
  }
}

/** The rows are locked before it is read what is pending: whoever adds deliveries locks them afterwards (publish.ts). */
export async function release(db: WriteDb, releases: readonly Release[], holder: string, now: Date): Promise<void> {
  const held = await lockHeld(
    db,
    releases.map(({ uid }) => uid),
    holder,
  );
  if (held.size === 0) return;
  const pending = await firstPending(db, [...held]);
  const rows = releases
    .filter(({ uid }) => held.has(uid))
    .map(({ uid, health, notBefore }) => ({
      ...{ uid, ...health },
      next_time: latest(pending.get(uid), [now.toISOString(), health.hold_time, notBefore]),
    }));
  const columns = { failing_time: "text", hold_time: "text", pause_time: "text", pause_reason: "text", next_time: "text" } as const;
  await db
    .updateTable("subscription_queue")
    .from(db.dialect.rowsOf(rows, { uid: "text", failures: "bigint", ...columns }).as("r"))
    .set(({ ref }) => ({
      ...{ lease_holder: null, lease_time: null, failures: ref("r.failures"), failing_time: ref("r.failing_time") },
      ...{ hold_time: ref("r.hold_time"), pause_time: ref("r.pause_time"), pause_reason: ref("r.pause_reason") },
      next_time: ref("r.next_time"),
    }))
    .whereRef("subscription_queue.subscription_uid", "=", "r.uid")
    .execute();
}

/** In the order in which publish.ts locks them. @returns which of them this server holds */
export async function lockHeld(db: WriteDb, uids: readonly string[], holder: string): Promise<Set<string>> {
  if (uids.length === 0) return new Set();
  const query = db
    .selectFrom("subscription_queue")
    .select("subscription_uid")
    .where("lease_holder", "=", holder)
    .where("subscription_uid", "in", db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value"))
    .orderBy("subscription_uid");
  const rows = await db.dialect.forUpdate(query).execute();
  return new Set(rows.map((row) => row.subscription_uid));
}

/** For each queue the time of the first delivery that is pending, by one step into an index. */
async function firstPending(db: WriteDb, uids: readonly string[]): Promise<Map<string, string | null>> {
  const rows = await db
    .selectFrom(db.dialect.valuesOf(uids).as("v"))
    .select((eb) => [
      "v.value as uid",
      eb
        .selectFrom("delivery")
        .select("next_attempt_time")
        .whereRef("subscription_uid", "=", "v.value")
        .where("state", "=", "pending")
        .orderBy("next_attempt_time")
        .limit(1)
        .as("time"),
    ])
    .execute();
  return new Map(rows.map(({ uid, time }) => [uid, time]));
}

/** Null where nothing is pending. Not before now: a queue with much to send stands behind those that have waited. */
function latest(pending: string | null | undefined, others: readonly (string | null)[]): string | null {
  if (pending === null || pending === undefined) return null;
  return others.reduce<string>((time, other) => (other !== null && other > time ? other : time), pending);
}
