/** How many advisories stand below a group, by all that few values are known of: a list's total is read here, whatever it filters by of that. */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { appendToCounts, type CountKind, type ResourceCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";
import type { AdvisoryTable } from "../tables.ts";
import { appendToChanges } from "./changes.ts";

/** What is counted apart. */
export const COUNTED = ["artifact_type", "artifact_architecture", "component_type", "latest_type", "event_types", "review_states"] as const;

/** What is counted apart from that, each by itself: people differ too much to be counted with all the rest. */
export const PEOPLE = ["authors", "reviewers"] as const;

/** The resource engine's own count: of advisories that are not deleted, as here. */
const TOTAL: CountKind = "advisory";
/** Above all organizations. */
const ROOT = "/";
/** Rows of one statement. */
const MAX_ROWS = 64;

type CountedRow = Pick<AdvisoryTable, "uid" | "delete_time" | (typeof COUNTED)[number] | (typeof PEOPLE)[number]>;

/** One advisory that changed, as it was and as it is; a deleted one counts as none. */
export interface CountChange {
  readonly before?: CountedRow | undefined;
  readonly after?: CountedRow | undefined;
}

/** In the transaction that changes the rows, and only there. */
export async function appendToAdvisoryCounts(db: WriteDb, changes: readonly CountChange[]): Promise<void> {
  const steps = changes.flatMap(({ before, after }) => [...stepOf(before, -1), ...stepOf(after, 1)]);
  for (const delta of [-1, 1]) {
    const uids = steps.filter((step) => step.delta === delta).map((step) => step.row.uid);
    // An advisory that stays does not change the total.
    const others = new Set(steps.filter((step) => step.delta === -delta).map((step) => step.row.uid));
    await appendToCounts(
      db,
      TOTAL,
      uids.filter((uid) => !others.has(uid)),
      delta,
    );
  }
  await appendRows(db, "advisory_count", COUNTED, steps, (row) => [COUNTED.map((column) => row[column])]);
  await appendRows(db, "advisory_people_count", ["facet", "people"], steps, (row) => PEOPLE.map((facet) => [facet, row[facet]]));
  await appendToChanges(
    db,
    changes.flatMap(({ before, after }) => after?.uid ?? before?.uid ?? []),
  );
}

interface Step {
  readonly row: CountedRow;
  readonly delta: number;
}

function stepOf(row: CountedRow | undefined, delta: number): Step[] {
  return row === undefined || row.delete_time !== null ? [] : [{ row, delta }];
}

/** @param keysOf the rows of the table that count an advisory, each at every group above it */
async function appendRows(
  db: WriteDb,
  table: "advisory_count" | "advisory_people_count",
  keyColumns: readonly string[],
  steps: readonly Step[],
  keysOf: (row: CountedRow) => readonly (readonly (string | number)[])[],
): Promise<void> {
  const sums = new Map<string, { key: readonly (string | number)[]; below: number; direct: number }>();
  for (const { row, delta } of steps) {
    const parent = parentOf(row.uid);
    for (const group of [...ancestry(parent), ROOT]) {
      for (const values of keysOf(row)) {
        const key = [group, ...values];
        const name = JSON.stringify(key);
        const sum = sums.get(name) ?? { key, below: 0, direct: 0 };
        sums.set(name, { key, below: sum.below + delta, direct: sum.direct + (group === parent ? delta : 0) });
      }
    }
  }
  // Everybody locks in the same order, so nobody waits in a circle.
  const changes = [...sums].filter(([, { below, direct }]) => below !== 0 || direct !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  const unique = sql.join(["group_uid", ...keyColumns, "slot"].map((column) => sql.ref(column)));
  for (let start = 0; start < changes.length; start += MAX_ROWS) {
    const rows = changes.slice(start, start + MAX_ROWS).map(([, { key, below, direct }]) => {
      return sql`(${sql.join(key)}, ${db.dialect.countSlot}, ${below}, ${direct})`;
    });
    const counts = sql.table(table);
    await sql`insert into ${counts} (${unique}, below, direct) values ${sql.join(rows)} on conflict (${unique}) do update
      set below = ${counts}.below + excluded.below, direct = ${counts}.direct + excluded.direct`.execute(db);
  }
}

/** @param groups none of them below another; @param where on the columns of COUNTED alone */
export async function countAdvisories(db: ReadDb, groups: readonly string[], where: RawBuilder<boolean>): Promise<ResourceCount> {
  return sum(db, sql`advisory_count where ${ofGroups(groups, db.dialect)} and ${where}`);
}

/** @param groups none of them below another; @param where on the column `people` alone */
export async function countByPeople(
  db: ReadDb,
  facet: (typeof PEOPLE)[number],
  groups: readonly string[],
  where: RawBuilder<boolean>,
): Promise<ResourceCount> {
  return sum(db, sql`advisory_people_count where ${ofGroups(groups, db.dialect)} and facet = ${facet} and ${where}`);
}

/** That a row of counts is of one of the groups. */
export function ofGroups(groups: readonly string[], dialect: Dialect): RawBuilder<boolean> {
  if (groups.length === 1) return sql<boolean>`group_uid = ${groups[0]}`;
  return sql<boolean>`group_uid in (select wanted.value from ${dialect.valuesOf(groups)} as wanted)`;
}

async function sum(db: ReadDb, from: RawBuilder<unknown>): Promise<ResourceCount> {
  const { rows } = await sql<ResourceCount>`
    select cast(coalesce(sum(below), 0) as bigint) as below, cast(coalesce(sum(direct), 0) as bigint) as direct from ${from}`.execute(db);
  return rows[0] ?? { below: 0, direct: 0 };
}

/** Forgets a group that was deleted. */
export async function dropAdvisoryCounts(db: WriteDb, groupUid: string): Promise<void> {
  await db.deleteFrom("advisory_count").where("group_uid", "=", groupUid).execute();
  await db.deleteFrom("advisory_people_count").where("group_uid", "=", groupUid).execute();
  await db.deleteFrom("advisory_change").where("group_uid", "=", groupUid).execute();
}
