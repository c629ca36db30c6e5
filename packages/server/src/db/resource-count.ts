/** Maintained counts: how many rows of a kind stand below each group, so that a list's total needs no scan. Changed only in the transaction that changes the rows. */
import { type RawBuilder, sql } from "kysely";
import { ancestry, isInRoot, parentOf } from "../lib/uid.ts";
import type { PartialCounts, ResourceTableName } from "./schema.ts";
import type { ReadDb, WriteDb } from "./store.ts";

/** Rows of one statement: enough for any one row's ancestors, and few enough lengths that all of them stay prepared. */
const MAX_ROWS = 64;

/** What is counted: the rows of a table, or one of the counts that domains name in their tables.ts. */
export type CountKind = ResourceTableName | keyof PartialCounts;

export interface ResourceCount {
  readonly below: number;
  readonly direct: number;
}

/** Above all organizations: what parentOf a root uid is. */
const ROOT = "/";

/** Counts one row that was created (`delta` 1) or removed (-1), at every group above it and at `/`, which is above everything. */
export function appendToCount(db: WriteDb, kind: CountKind, uid: string, delta: number): Promise<void> {
  return appendToCounts(db, kind, [uid], delta);
}

/** The same for many rows, with one change per group. */
export async function appendToCounts(db: WriteDb, kind: CountKind, uids: readonly string[], delta: number): Promise<void> {
  const counts = new Map<string, { below: number; direct: number }>();
  for (const uid of uids) {
    const parent = parentOf(uid);
    for (const group of isInRoot(uid) ? [ROOT] : [...ancestry(parent), ROOT]) {
      const { below, direct } = counts.get(group) ?? { below: 0, direct: 0 };
      counts.set(group, { below: below + delta, direct: group === parent ? direct + delta : direct });
    }
  }
  await appendChanges(db, kind, counts);
}

/** Counts rows of `vulnerability` that were created, or removed where negative, above all groups. */
export async function appendToVulnerabilityCount(db: WriteDb, delta: number): Promise<void> {
  if (delta !== 0) await appendChanges(db, "vulnerability", new Map([[ROOT, { below: delta, direct: delta }]]));
}

/** Takes what is counted below a group, or a repo, off everything above it: it is about to be deleted with all of that. */
export async function subtractCounts(db: WriteDb, kind: CountKind, uid: string): Promise<void> {
  const { below } = await countOf(db, kind, uid);
  if (below === 0) return;
  const above = [...ancestry(uid).slice(1), ROOT];
  await appendChanges(db, kind, new Map(above.map((group) => [group, { below: -below, direct: 0 }])));
}

async function appendChanges(db: WriteDb, kind: CountKind, counts: ReadonlyMap<string, ResourceCount>): Promise<void> {
  // Everybody locks from the root downwards, so nobody waits in a circle.
  const groups = [...counts.keys()].sort();
  for (let start = 0; start < groups.length; start += MAX_ROWS) {
    const rows = groups
      .slice(start, start + MAX_ROWS)
      .map((group) => ({ group_uid: group, kind, slot: db.dialect.countSlot, ...counts.get(group)! }));
    await db
      .insertInto("resource_count")
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(["group_uid", "kind", "slot"]).doUpdateSet((eb) => ({
          below: eb("resource_count.below", "+", eb.ref("excluded.below")),
          direct: eb("resource_count.direct", "+", eb.ref("excluded.direct")),
        })),
      )
      .execute();
  }
}

/** Zeroes for a group without rows, and for one that does not exist. */
export function countOf(db: ReadDb, kind: CountKind, groupUid: string): Promise<ResourceCount> {
  return sumOf(db, kind, sql<boolean>`group_uid = ${groupUid}`);
}

/** The counts of several groups together; none of them may lie below another. */
export function countOfAll(db: ReadDb, kind: CountKind, groupUids: readonly string[]): Promise<ResourceCount> {
  if (groupUids.length === 1) return countOf(db, kind, groupUids[0] ?? "");
  return sumOf(db, kind, sql<boolean>`group_uid in (select wanted.value from ${db.dialect.valuesOf(groupUids)} as wanted)`);
}

/** As text: every list asks this, and a query that is built by calls takes half as long again. */
async function sumOf(db: ReadDb, kind: CountKind, isWanted: RawBuilder<boolean>): Promise<ResourceCount> {
  const { rows } =
    await sql<ResourceCount>`select cast(coalesce(sum(below), 0) as bigint) as below, cast(coalesce(sum(direct), 0) as bigint) as direct
    from resource_count where ${isWanted} and kind = ${kind}`.execute(db);
  return rows[0] ?? { below: 0, direct: 0 };
}

/** Forgets a group, or a repo, that was deleted. */
export async function dropCounts(db: WriteDb, groupUid: string): Promise<void> {
  await db.deleteFrom("resource_count").where("group_uid", "=", groupUid).execute();
}
