/** Releases queues at the end of their runs, and stores their health and when there is more to send. */
import type { WriteDb } from "../../db/store.ts";
import { type Lease, RELEASED } from "../../jobs/lease.ts";
import type { Health } from "./retry.ts";

export interface Release {
  readonly uid: string;
  readonly health: Health;
  /** If the sink took events again after it had failed: since when it had failed. */
  readonly recoveredSince: string | null;
  /** The queue is not claimed before this time, because of a fault of this server; null for no fault. */
  readonly notBefore: string | null;
}

/**
 * Makes deliveries due that failed while their sink was in trouble. A delivery that failed before keeps its own
 * retries: its event may be the cause.
 */
export async function makeDueAfterRecovery(db: WriteDb, releases: readonly Release[], now: Date): Promise<void> {
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

/**
 * Locks the queues before it reads what is pending: publish.ts adds deliveries first and locks the queues afterwards,
 * and in the same order.
 */
export async function releaseQueues(db: WriteDb, releases: readonly Release[], lease: Lease, now: Date): Promise<void> {
  const held = await lease.lockHeld(
    db,
    releases.map(({ uid }) => uid),
  );
  if (held.size === 0) return;
  const pending = await readFirstPending(db, [...held]);
  const rows = releases
    .filter(({ uid }) => held.has(uid))
    .map(({ uid, health, notBefore }) => ({
      ...health,
      uid,
      next_time: nextTime(pending.get(uid), [now.toISOString(), health.hold_time, notBefore]),
    }));
  const columns = {
    uid: "text",
    failures: "bigint",
    failing_time: "text",
    hold_time: "text",
    pause_time: "text",
    pause_reason: "text",
    next_time: "text",
  } as const;
  const update = db
    .updateTable("subscription_queue")
    .from(db.dialect.rowsOf(rows, columns).as("r"))
    .set(({ ref }) => ({
      ...RELEASED,
      failures: ref("r.failures"),
      failing_time: ref("r.failing_time"),
      hold_time: ref("r.hold_time"),
      pause_time: ref("r.pause_time"),
      pause_reason: ref("r.pause_reason"),
      next_time: ref("r.next_time"),
    }))
    .whereRef("subscription_queue.subscription_uid", "=", "r.uid");
  await db.append(update.compile());
}

/** For each queue the time of its first pending delivery, by one step into an index. */
async function readFirstPending(db: WriteDb, uids: readonly string[]): Promise<Map<string, string | null>> {
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

/**
 * The latest of the times; null where nothing is pending. Never before now: a queue with much to send goes behind those
 * that have waited.
 */
function nextTime(pending: string | null | undefined, others: readonly (string | null)[]): string | null {
  if (pending === null || pending === undefined) return null;
  return others.reduce<string>((time, other) => (other !== null && other > time ? other : time), pending);
}
