/** How many rows a list has over all its pages: from maintained counts where the view is whole groups, counted otherwise. */
import { sql } from "kysely";
import { countOfAll } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { and, inRanges, sought, source } from "./conditions.ts";
import type { Entries, Selection } from "./selection.ts";
import { IS_IN_ROOT } from "./visible.ts";

export interface RowCount {
  /** Undefined where they are many, and counting them would take longer than reading a page of them. */
  readonly total: number | undefined;
  /** No more of them than this stand beside what the caller's scopes hold. */
  readonly beside: number;
  /** How many rows are looked at to find them all; left out where that is no more than they are. */
  readonly effort?: number;
}

export async function countRows(selection: Selection, db: ReadDb): Promise<RowCount & { readonly total: number }> {
  const { view, resource, counted } = selection;
  if (view.counted === undefined) return countAll(selection, db);
  const beside = await countBeside(selection, db);
  const { groups, direct, itself } = view.counted;
  const counts = await countOfAll(db, counted, groups);
  // A group stands in its own scope; other resources' rows never have a group's uid.
  const themselves = itself && resource.table === "group" ? groups.length : 0;
  return { total: beside + themselves + (direct ? counts.direct : counts.below), beside };
}

/** Those that meet all conditions, one by one. */
export async function countAll(selection: Selection, db: ReadDb): Promise<RowCount & { readonly total: number }> {
  const { view, beside, entries } = selection;
  if (entries !== undefined && beside === undefined) return { total: await countEntries(entries, selection, db), beside: 0 };
  const where = sought(selection, db.dialect, view.conditions.length > 0 && view.ranges.length > 32 ? "test" : "seek");
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${source(selection, db.dialect)} where ${where}`.execute(db);
  const total = Number(rows[0]?.n ?? 0);
  return { total, beside: beside === undefined ? 0 : total };
}

async function countEntries({ table, uid, where, isRepeated }: Entries, { view }: Selection, db: ReadDb): Promise<number> {
  const isVisible = inRanges(view, uid, table, db.dialect);
  const each = isRepeated ? sql`distinct ${uid}` : sql`*`;
  const { rows } = await sql<{ n: number }>`select count(${each}) as n from ${sql.table(table)} where ${and([where, isVisible])}`.execute(
    db,
  );
  return Number(rows[0]?.n ?? 0);
}

async function countBeside({ resource, beside }: Selection, db: ReadDb): Promise<number> {
  if (beside === undefined) return 0;
  const where = and([sql<boolean>`parent is null`, IS_IN_ROOT, beside]);
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(resource.table)} where ${where}`.execute(db);
  return Number(rows[0]?.n ?? 0);
}
