/**
 * Maintains and reads the counts of advisories below a group, by the columns that have few different values. Totals of
 * lists come from here.
 */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { appendToCounts, type CountKind, type ResourceCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";
import type { AdvisoryTable } from "../tables.ts";
import { appendToChanges } from "./changes.ts";

/** Each combination of values of these columns has a count of its own. */
export const COUNTED_COLUMNS = [
  "artifact_type",
  "artifact_architecture",
  "component_type",
  "latest_type",
  "event_types",
  "review_states",
] as const;

/** Each value of these columns has a count of its own. They have too many values to be part of the combinations. */
export const PEOPLE_COLUMNS = ["authors", "reviewers"] as const;

/** The resource engine's count of advisories that are not deleted. */
const TOTAL: CountKind = "advisory";
/** The parent of all organizations. */
const ROOT = "/";
const ROWS_PER_STATEMENT = 64;

export type CountedRow = Pick<AdvisoryTable, "uid" | "delete_time" | (typeof COUNTED_COLUMNS)[number] | (typeof PEOPLE_COLUMNS)[number]>;

/** One advisory before and after a change. A deleted advisory counts as absent. */
export interface CountChange {
  readonly before?: CountedRow | undefined;
  readonly after?: CountedRow | undefined;
}

/** Call in the transaction that changes the advisories. */
export async function appendToAdvisoryCounts(db: WriteDb, changes: readonly CountChange[]): Promise<void> {
  const deltas = changes.flatMap(({ before, after }) => [...countDeltas(before, -1), ...countDeltas(after, 1)]);
  for (const delta of [-1, 1]) {
    const uids = deltas.filter((change) => change.delta === delta).map(({ row }) => row.uid);
    // An advisory that exists before and after does not change the total.
    const others = new Set(deltas.filter((change) => change.delta === -delta).map(({ row }) => row.uid));
    await appendToCounts(
      db,
      TOTAL,
      uids.filter((uid) => !others.has(uid)),
      delta,
    );
  }
  for (const count of COUNTS) {
    const sums: CountSums = new Map();
    addToSums(sums, deltas, count);
    await appendSums(db, sums, count);
  }
  await appendToChanges(
    db,
    changes.flatMap(({ before, after }) => after?.uid ?? before?.uid ?? []),
  );
}

export interface CountDelta {
  readonly row: CountedRow;
  readonly delta: number;
}

function countDeltas(row: CountedRow | undefined, delta: number): CountDelta[] {
  return row === undefined || row.delete_time !== null ? [] : [{ row, delta }];
}

export interface Count {
  readonly table: "advisory_count" | "advisory_people_count";
  readonly keyColumns: readonly string[];
  /** The keys of an advisory's count rows, without the group. Each key is counted in every group above the advisory. */
  keysOf(row: CountedRow): readonly (readonly (string | number)[])[];
}

/** The counts of advisories besides their total. */
export const COUNTS: readonly Count[] = [
  {
    table: "advisory_count",
    keyColumns: COUNTED_COLUMNS,
    keysOf: (row) => [COUNTED_COLUMNS.map((column) => row[column])],
  },
  {
    table: "advisory_people_count",
    keyColumns: ["facet", "people"],
    keysOf: (row) => PEOPLE_COLUMNS.map((facet) => [facet, row[facet]]),
  },
];

/** Numbers to add to the rows of a count, by the JSON text of the row's group and key. */
export type CountSums = Map<string, ResourceCount>;

export function addToSums(sums: CountSums, deltas: readonly CountDelta[], { keysOf }: Pick<Count, "keysOf">): void {
  for (const { parent, values, delta } of sumsPerParent(deltas, keysOf))
    for (const group of [...ancestry(parent), ROOT])
      addToSum(sums, [group, ...values], { below: delta, direct: group === parent ? delta : 0 });
}

/** @param key the group and the key of the count */
export function addToSum(sums: CountSums, key: readonly (string | number)[], { below, direct }: ResourceCount): void {
  const name = JSON.stringify(key);
  const sum = sums.get(name) ?? { below: 0, direct: 0 };
  sums.set(name, { below: sum.below + below, direct: sum.direct + direct });
}

export function isChange([, { below, direct }]: readonly [string, ResourceCount]): boolean {
  return below !== 0 || direct !== 0;
}

export async function appendSums(db: WriteDb, sums: CountSums, { table, keyColumns }: Count): Promise<void> {
  // All transactions lock these rows in the same order, which prevents deadlocks.
  const changes = [...sums].filter(isChange).sort(([a], [b]) => (a < b ? -1 : 1));
  const unique = sql.join(["group_uid", ...keyColumns, "slot"].map((column) => sql.ref(column)));
  for (let start = 0; start < changes.length; start += ROWS_PER_STATEMENT) {
    const rows = changes.slice(start, start + ROWS_PER_STATEMENT).map(([key, { below, direct }]) => {
      return sql`(${sql.join(JSON.parse(key) as unknown[])}, ${db.dialect.countSlot}, ${below}, ${direct})`;
    });
    const counts = sql.table(table);
    await sql`insert into ${counts} (${unique}, below, direct) values ${sql.join(rows)} on conflict (${unique}) do update
      set below = ${counts}.below + excluded.below, direct = ${counts}.direct + excluded.direct`.execute(db);
  }
}

interface ParentSum {
  readonly parent: string;
  /** One of the keys. */
  readonly values: readonly (string | number)[];
  delta: number;
}

/** Many advisories of an import have the same parent and keys. */
function sumsPerParent(deltas: readonly CountDelta[], keysOf: Count["keysOf"]): Iterable<ParentSum> {
  const sums = new Map<string, ParentSum>();
  for (const { row, delta } of deltas) {
    const parent = parentOf(row.uid);
    for (const values of keysOf(row)) {
      // No text of a row has the separator.
      const name = `${parent}\0${values.join("\0")}`;
      const sum = sums.get(name);
      if (sum === undefined) sums.set(name, { parent, values, delta });
      else sum.delta += delta;
    }
  }
  return sums.values();
}

/** @param groups none of them below another @param where a condition on columns of COUNTED_COLUMNS only */
export async function countAdvisories(db: ReadDb, groups: readonly string[], where: RawBuilder<boolean>): Promise<ResourceCount> {
  return sum(db, sql`advisory_count where ${isInGroups(groups, db.dialect)} and ${where}`);
}

/** @param groups none of them below another @param where a condition on the column `people` only */
export async function countByPeople(
  db: ReadDb,
  facet: (typeof PEOPLE_COLUMNS)[number],
  groups: readonly string[],
  where: RawBuilder<boolean>,
): Promise<ResourceCount> {
  return sum(db, sql`advisory_people_count where ${isInGroups(groups, db.dialect)} and facet = ${facet} and ${where}`);
}

/** The condition that a row of counts belongs to one of the groups. */
export function isInGroups(groups: readonly string[], dialect: Dialect): RawBuilder<boolean> {
  if (groups.length === 1) return sql<boolean>`group_uid = ${groups[0]}`;
  return sql<boolean>`group_uid in (select wanted.value from ${dialect.valuesOf(groups)} as wanted)`;
}

async function sum(db: ReadDb, from: RawBuilder<unknown>): Promise<ResourceCount> {
  const { rows } = await sql<ResourceCount>`
    select cast(coalesce(sum(below), 0) as bigint) as below, cast(coalesce(sum(direct), 0) as bigint) as direct from ${from}`.execute(db);
  return rows[0] ?? { below: 0, direct: 0 };
}
