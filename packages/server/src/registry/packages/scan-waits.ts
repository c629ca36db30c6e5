/**
 * Keeps the organizations that wait for a scan of a manifest, and chooses the next one: the organization whose last turn is
 * longest ago, however many manifests it waits for. Several organizations may wait for the same manifest; it is
 * scanned in the turn of the first of them. The cost of a turn grows with the number of waiting organizations, not with
 * the number of manifests.
 */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { lastTurn } from "../../jobs/fair-share.ts";
import type { Lease } from "../../jobs/lease.ts";

/** The caller has locked the manifest's row of `image_scan`. If the scan was postponed, it is postponed for this organization, too. */
export async function appendWait(db: WriteDb, digest: string, orgUid: string, now: Date): Promise<void> {
  const time = now.toISOString();
  const postponed = db.selectFrom("image_wait").select("due_time").where("digest", "=", digest).where("due_time", ">", time).limit(1);
  await db
    .insertInto("image_wait")
    .values(({ fn, val }) => ({ digest, org_uid: orgUid, due_time: fn.coalesce(postponed, val(time)) }))
    .onConflict((conflict) => conflict.columns(["digest", "org_uid"]).doNothing())
    .execute();
}

export async function postponeWaits(db: WriteDb, digest: string, due: string): Promise<void> {
  await db.updateTable("image_wait").set({ due_time: due }).where("digest", "=", digest).execute();
}

/** @param orgUid without it, no organization waits any more */
export async function removeWaits(db: WriteDb, digest: string, orgUid?: string): Promise<void> {
  const waits = db.deleteFrom("image_wait").where("digest", "=", digest);
  await (orgUid === undefined ? waits : waits.where("org_uid", "=", orgUid)).execute();
}

/** Sorted, so that transactions lock rows of these organizations in the same order. */
export async function waitingOrganizations(db: ReadDb, digest: string): Promise<string[]> {
  const rows = await db.selectFrom("image_wait").select("org_uid").where("digest", "=", digest).orderBy("org_uid").execute();
  return rows.map(({ org_uid }) => org_uid);
}

/** A manifest, and the organization whose turn it is. */
export interface NextScan {
  readonly orgUid: string;
  readonly digest: string;
}

export async function findNext(db: ReadDb, lease: Lease, now: Date): Promise<NextScan | undefined> {
  const time = now.toISOString();
  const first = (column: WaitColumn) => firstWait(column, lease);
  const { rows } = await sql<NextScan>`with recursive ${WAITING}
    select waiting.org_uid as "orgUid", ${first("digest")} as digest from waiting where ${first("due_time")} <= ${time}
    order by ${lastTurn("image_turn", sql.ref("waiting.org_uid"))}, waiting.org_uid limit 1`.execute(db);
  return rows[0];
}

/** The earliest time at which `findNext` may find something; null for never. */
export async function nextDue(db: ReadDb, lease: Lease): Promise<Date | null> {
  const { rows } = await sql<{ readonly next: string | null }>`with recursive ${WAITING}
    select min(due.time) as next from (
      select ${firstWait("due_time", lease)} as time from waiting
      union all select min(lease_time) from image_scan where ${lease.isHeld()}) as due`.execute(db);
  const next = rows[0]?.next ?? null;
  return next === null ? null : new Date(next);
}

/** The waiting organizations, each found by one step into an index. */
const WAITING = sql`waiting (org_uid) as (
  select min(org_uid) from image_wait
  union all
  select (select min(w.org_uid) from image_wait as w where w.org_uid > waiting.org_uid) from waiting where waiting.org_uid is not null)`;

type WaitColumn = "digest" | "due_time";

/** A column of the longest wait of an organization, without manifests that a server scans already. */
function firstWait(column: WaitColumn, lease: Lease): RawBuilder<string | null> {
  return sql`(select w.${sql.ref(column)} from image_wait as w where w.org_uid = waiting.org_uid
    and w.digest not in (select s.digest from image_scan as s where ${lease.isHeld()}) order by w.due_time, w.digest limit 1)`;
}
