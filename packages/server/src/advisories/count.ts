/** How many advisories stand below a group, by all that few values are known of: a list's total is read here, whatever it filters by of that. */
import { type RawBuilder, sql } from "kysely";
import { appendToCounts, type CountKind, type ResourceCount } from "../db/resource-count.ts";
import type { AdvisoryTable } from "../db/schema.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { ancestry, parentOf } from "../lib/uid.ts";
import { appendToChanges } from "./changes.ts";

/** What is counted apart. */
export const COUNTED = ["artifact_type", "artifact_architecture", "component_type", "latest_type", "event_types", "review_states"] as const;

/** The resource engine's own count: of advisories that are not deleted, as here. */
const TOTAL: CountKind = "advisory";
/** Above all organizations. */
const ROOT = "/";
/** Rows of one statement. */
const MAX_ROWS = 64;

type CountedRow = Pick<AdvisoryTable, "uid" | "delete_time" | (typeof COUNTED)[number]>;

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
  await appendRows(db, steps);
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

async function appendRows(db: WriteDb, steps: readonly Step[]): Promise<void> {
  const sums = new Map<string, { key: readonly (string | number)[]; below: number; direct: number }>();
  for (const { row, delta } of steps) {
    const parent = parentOf(row.uid);
    const values = COUNTED.map((column) => row[column]);
    for (const group of [...ancestry(parent), ROOT]) {
      const key = [group, ...values];
      const name = JSON.stringify(key);
      const sum = sums.get(name) ?? { key, below: 0, direct: 0 };
      sums.set(name, { key, below: sum.below + delta, direct: sum.direct + (group === parent ? delta : 0) });
    }
  }
  // Everybody locks in the same order, so nobody waits in a circle.
  const names = [...sums].filter(([, { below, direct }]) => below !== 0 || direct !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  const columns = sql.join(["group_uid", ...COUNTED, "slot", "below", "direct"].map((column) => sql.ref(column)));
  const unique = sql.join(["group_uid", ...COUNTED, "slot"].map((column) => sql.ref(column)));
  for (let start = 0; start < names.length; start += MAX_ROWS) {
    const rows = names.slice(start, start + MAX_ROWS).map(([, { key, below, direct }]) => {
      return sql`(${sql.join(key)}, ${db.dialect.countSlot}, ${below}, ${direct})`;
    });
    await sql`insert into advisory_count (${columns}) values ${sql.join(rows)} on conflict (${unique}) do update
      set below = advisory_count.below + excluded.below, direct = advisory_count.direct + excluded.direct`.execute(db);
  }
}

/**
 * @param groups none of them below another
 * @param where on the columns of COUNTED alone
 */
export async function countAdvisories(db: ReadDb, groups: readonly string[], where: RawBuilder<boolean>): Promise<ResourceCount> {
  const { rows } = await sql<ResourceCount>`
    select cast(coalesce(sum(below), 0) as bigint) as below, cast(coalesce(sum(direct), 0) as bigint) as direct from advisory_count
    where group_uid in (select wanted.value from ${db.dialect.valuesOf(groups)} as wanted) and ${where}`.execute(db);
  return rows[0] ?? { below: 0, direct: 0 };
}
