/**
 * Whose image is read next: of the organizations that wait for one, the one whose last turn is longest ago, however much each waits for. All that wait
 * for the same manifest do so in their own line, and it is read in the turn of whoever comes first. A push only appends to its own line; what a turn
 * costs grows with the organizations that wait, and not with what they wait for.
 */
import { type RawBuilder, sql } from "kysely";
import { lockState } from "../../db/server-state.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";

/** The caller has the manifest's row of `image_scan` locked. What is postponed for others is for this one. */
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

/** @param orgUid whose; everybody's where it is left out */
export async function removeWaits(db: WriteDb, digest: string, orgUid?: string): Promise<void> {
  const waits = db.deleteFrom("image_wait").where("digest", "=", digest);
  await (orgUid === undefined ? waits : waits.where("org_uid", "=", orgUid)).execute();
}

/** Until the transaction ends nobody else takes a turn: two servers at once would both give it to the same organization. */
export async function lockTurns(db: WriteDb): Promise<void> {
  await lockState(db, "image_turns", {});
}

export interface Turn {
  readonly orgUid: string;
  readonly digest: string;
}

export async function findTurn(db: ReadDb, now: Date): Promise<Turn | undefined> {
  const time = now.toISOString();
  const last = sql`(select t.turn_time from image_turn as t where t.org_uid = waiting.org_uid)`;
  const { rows } = await sql<Turn>`with recursive ${WAITING}
    select waiting.org_uid as "orgUid", ${first("digest", time)} as digest from waiting where ${first("due_time", time)} <= ${time}
    order by coalesce(${last}, ''), waiting.org_uid limit 1`.execute(db);
  return rows[0];
}

/** When there is a turn to take, at the earliest; null for never. */
export async function nextDue(db: ReadDb, now: Date): Promise<Date | null> {
  const time = now.toISOString();
  const { rows } = await sql<{ readonly next: string | null }>`with recursive ${WAITING}
    select min(due.time) as next from (
      select ${first("due_time", time)} as time from waiting
      union all select min(lease_time) from image_scan where lease_time >= ${time}) as due`.execute(db);
  const next = rows[0]?.next ?? null;
  return next === null ? null : new Date(next);
}

/** The organizations that wait for something, found from one to the next. */
const WAITING = sql`waiting (org_uid) as (
  select min(org_uid) from image_wait
  union all
  select (select min(w.org_uid) from image_wait as w where w.org_uid > waiting.org_uid) from waiting where waiting.org_uid is not null)`;

/** Of what a waiting organization waits for longest, but for what a server is at. */
function first(column: "digest" | "due_time", now: string): RawBuilder<string | null> {
  return sql`(select w.${sql.ref(column)} from image_wait as w where w.org_uid = waiting.org_uid
    and w.digest not in (select s.digest from image_scan as s where s.lease_time >= ${now}) order by w.due_time, w.digest limit 1)`;
}

/** A turn counts as so much later as it took: who keeps a server for minutes has others go first for as long. */
export async function takeTurn(db: WriteDb, orgUid: string, begun: Date, now: Date): Promise<void> {
  const turn_time = new Date(2 * now.getTime() - begun.getTime()).toISOString();
  await db
    .insertInto("image_turn")
    .values({ org_uid: orgUid, turn_time })
    // Another server may have read something longer for it meanwhile.
    .onConflict((conflict) => conflict.column("org_uid").doUpdateSet({ turn_time }).where("image_turn.turn_time", "<", turn_time))
    .execute();
}
