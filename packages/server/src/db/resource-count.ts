/**
 * Maintains the number of rows below each group, so that the total of a list needs no scan. The transaction that
 * changes the rows changes the counts.
 */
import { sql } from "kysely";
import { ancestry, isInRoot, parentOf } from "../lib/uid.ts";
import { prepare, prepareEach } from "./prepared.ts";
import type { PartialCounts, ResourceTableName } from "./schema.ts";
import type { ReadDb, WriteDb } from "./store.ts";

/** Enough for all ancestors of a row, and few enough that a statement for each number of rows stays prepared. */
const MAX_ROWS_PER_STATEMENT = 64;

/** A counted table, or one of the counts that domains declare in their tables.ts. */
export type CountKind = ResourceTableName | keyof PartialCounts;

export interface ResourceCount {
  /** Rows anywhere below the group. */
  readonly below: number;
  /** Rows whose parent is the group. */
  readonly direct: number;
}

/** The pseudo-group above all organizations, and the parent of every root uid. */
const ROOT = "/";

/** Counts a created (`delta` 1) or deleted (-1) row at every group above it and at `/`. */
export function appendToCount(db: WriteDb, kind: CountKind, uid: string, delta: number): Promise<void> {
  return appendToCounts(db, kind, [uid], delta);
}

/** Like appendToCount for many rows, with one change per group. */
export async function appendToCounts(db: WriteDb, kind: CountKind, uids: readonly string[], delta: number): Promise<void> {
  const counts = new Map<string, ResourceCount>();
  addRows(counts, uids, delta);
  await appendChanges(db, kind, counts);
}

/** Counts rows at every group above them and at `/`. */
export function addRows(counts: Map<string, ResourceCount>, uids: readonly string[], delta: number): void {
  for (const uid of uids) {
    const parent = parentOf(uid);
    for (const group of isInRoot(uid) ? [ROOT] : [...ancestry(parent), ROOT]) {
      const { below, direct } = counts.get(group) ?? { below: 0, direct: 0 };
      counts.set(group, { below: below + delta, direct: group === parent ? direct + delta : direct });
    }
  }
}

/** Counts created (positive) or deleted (negative) rows of `vulnerability`, which belong to no group. */
export async function appendToVulnerabilityCount(db: WriteDb, delta: number): Promise<void> {
  if (delta !== 0) await appendChanges(db, "vulnerability", new Map([[ROOT, { below: delta, direct: delta }]]));
}

/** Subtracts the count below a group or repo from all its ancestors, before it is deleted with its contents. */
export async function subtractCounts(db: WriteDb, kind: CountKind, uid: string): Promise<void> {
  const { below } = await countOf(db, kind, uid);
  if (below === 0) return;
  const above = [...ancestry(uid).slice(1), ROOT];
  await appendChanges(db, kind, new Map(above.map((group) => [group, { below: -below, direct: 0 }])));
}

/** Adds differences to the counts of groups, as a repair does. */
export async function correctCounts(db: WriteDb, kind: CountKind, differences: ReadonlyMap<string, ResourceCount>): Promise<void> {
  await appendChanges(db, kind, differences);
}

async function appendChanges(db: WriteDb, kind: CountKind, counts: ReadonlyMap<string, ResourceCount>): Promise<void> {
  // All writers lock rows from the root downwards, so they cannot deadlock.
  const groups = [...counts.keys()].sort();
  for (let start = 0; start < groups.length; start += MAX_ROWS_PER_STATEMENT) {
    const chunk = groups.slice(start, start + MAX_ROWS_PER_STATEMENT);
    const values: Record<string, string | number> = { kind };
    for (const [i, group] of chunk.entries()) {
      const { below, direct } = counts.get(group)!;
      Object.assign(values, { [`group${i}`]: group, [`below${i}`]: below, [`direct${i}`]: direct });
    }
    await db.append(addToCounts(chunk.length).bind(db, values));
  }
}

/** Adds to the counts of a number of groups. */
const addToCounts = prepareEach<number, Record<string, string | number>, never>(
  (size) => (db, param) => {
    const rowOf = (i: number) =>
      sql`(${param(`group${i}`)}, ${param("kind")}, ${db.dialect.countSlot}, ${param(`below${i}`)}, ${param(`direct${i}`)})`;
    return sql<never>`
      insert into resource_count (group_uid, kind, slot, below, direct) values ${sql.join(Array.from({ length: size }, (_, i) => rowOf(i)))}
      on conflict (group_uid, kind, slot) do update
      set below = resource_count.below + excluded.below, direct = resource_count.direct + excluded.direct`.compile(db);
  },
  String,
  { capacity: MAX_ROWS_PER_STATEMENT },
);

/** Zero for a group without rows, and for a group that does not exist. */
export async function countOf(db: ReadDb, kind: CountKind, group: string): Promise<ResourceCount> {
  return (await sumOfGroup.first(db, { group, kind })) ?? NO_ROWS;
}

/** The total of several groups, none of which may be below another. */
export async function countOfAll(db: ReadDb, kind: CountKind, groups: readonly string[]): Promise<ResourceCount> {
  if (groups.length === 1) return countOf(db, kind, groups[0] ?? "");
  return (await sumOfGroups.first(db, { groups, kind })) ?? NO_ROWS;
}

const NO_ROWS: ResourceCount = { below: 0, direct: 0 };
const SUMS = sql`cast(coalesce(sum(below), 0) as bigint) as below, cast(coalesce(sum(direct), 0) as bigint) as direct`;

const sumOfGroup = prepare<{ group: string; kind: CountKind }, ResourceCount>((db, param) =>
  sql<ResourceCount>`select ${SUMS} from resource_count where group_uid = ${param("group")} and kind = ${param("kind")}`.compile(db),
);

const sumOfGroups = prepare<{ groups: readonly string[]; kind: CountKind }, ResourceCount>((db, param) => {
  const wanted = sql`select wanted.value from ${db.dialect.valuesOf(param("groups"))} as wanted`;
  return sql<ResourceCount>`select ${SUMS} from resource_count where group_uid in (${wanted}) and kind = ${param("kind")}`.compile(db);
});

/** Deletes the counts of a deleted group or repo. */
export async function dropCounts(db: WriteDb, groupUid: string): Promise<void> {
  await db.deleteFrom("resource_count").where("group_uid", "=", groupUid).execute();
}
