/** Counts the rows below each group again and compares them with the maintained counts. */
import { sql } from "kysely";
import { rangeAtOrBelow, type UidRange } from "../lib/uid.ts";
import { addRows, type CountKind, correctCounts, type ResourceCount } from "./resource-count.ts";
import type { Schema } from "./schema.ts";
import type { ReadDb, WriteDb } from "./store.ts";

/** The rows that a count is about. */
export interface CountedRows {
  readonly kind: CountKind;
  readonly table: keyof Schema;
  /** SQL of a condition; all rows by default. */
  readonly where?: string;
  /** The rows belong to no group, and have no uids. */
  readonly isOutsideTree?: boolean;
  /** The uid of a row is that of its group, which counts it. */
  readonly hasUidOfGroup?: boolean;
}

/** A count that differs from the rows, with the difference to add. */
export interface CountError {
  readonly kind: CountKind;
  readonly group: string;
  readonly missing: ResourceCount;
}

/** The result of comparing counts of another table than `resource_count` with the rows. */
export interface CountCheck {
  /** Number of wrong counts. */
  readonly wrong: number;
  repair(db: WriteDb): Promise<void>;
}

const ROWS_PER_PAGE = 5000;
const NONE: ResourceCount = { below: 0, direct: 0 };

/** @param db a snapshot: rows and counts must be of the same moment */
export async function findCountErrors(db: ReadDb, counted: readonly CountedRows[]): Promise<CountError[]> {
  const errors: CountError[] = [];
  for (const rows of counted) {
    const actual = await countAgain(db, rows);
    const stored = await readCounts(db, rows.kind);
    for (const group of new Set([...actual.keys(), ...stored.keys()])) {
      const is = actual.get(group) ?? NONE;
      const was = stored.get(group) ?? NONE;
      const missing = { below: is.below - was.below, direct: is.direct - was.direct };
      if (missing.below !== 0 || missing.direct !== 0) errors.push({ kind: rows.kind, group, missing });
    }
  }
  return errors;
}

/** Adds the differences, so that changes since the check keep their effect. */
export async function repairCounts(db: WriteDb, errors: readonly CountError[]): Promise<void> {
  for (const [kind, ofKind] of Map.groupBy(errors, (error) => error.kind))
    await correctCounts(db, kind, new Map(ofKind.map(({ group, missing }) => [group, missing])));
}

/** Counts the rows of an organization that has no counts yet, at all groups above them. */
export async function appendCountsOf(db: WriteDb, counted: readonly CountedRows[], organization: string): Promise<void> {
  for (const rows of counted.filter(({ isOutsideTree }) => isOutsideTree !== true))
    await correctCounts(db, rows.kind, await countAgain(db, rows, rangeAtOrBelow(organization)));
}

const EVERYTHING: UidRange = { lower: "", upper: "g" };

async function countAgain(
  db: ReadDb,
  { table, where, hasUidOfGroup, isOutsideTree }: CountedRows,
  { lower, upper } = EVERYTHING,
): Promise<Map<string, ResourceCount>> {
  if (isOutsideTree) return countOutsideTree(db, table);
  const counts = new Map<string, ResourceCount>();
  const condition = where === undefined ? sql`` : sql`and ${sql.raw(where)}`;
  for (let after = ""; ; ) {
    const { rows } = await sql<{ uid: string }>`select uid from ${sql.table(table)}
      where uid > ${after} and uid >= ${lower} and uid < ${upper} ${condition}
      order by uid limit ${ROWS_PER_PAGE}`.execute(db);
    const uids = rows.map(({ uid }) => uid);
    addRows(counts, hasUidOfGroup ? uids.map((uid) => `${uid}/`) : uids, 1);
    const last = uids.at(-1);
    if (last === undefined || uids.length < ROWS_PER_PAGE) return counts;
    after = last;
  }
}

async function countOutsideTree(db: ReadDb, table: CountedRows["table"]): Promise<Map<string, ResourceCount>> {
  const { rows } = await sql<{ n: number }>`select cast(count(*) as bigint) as n from ${sql.table(table)}`.execute(db);
  const all = Number(rows[0]?.n ?? 0);
  return new Map([["/", { below: all, direct: all }]]);
}

async function readCounts(db: ReadDb, kind: CountKind): Promise<Map<string, ResourceCount>> {
  const { rows } = await sql<ResourceCount & { group_uid: string }>`select group_uid, cast(sum(below) as bigint) as below,
    cast(sum(direct) as bigint) as direct from resource_count where kind = ${kind} group by group_uid`.execute(db);
  return new Map(rows.map(({ group_uid, below, direct }) => [group_uid, { below: Number(below), direct: Number(direct) }]));
}
