/** Counts the rows of a list over all its pages: by maintained counts if the view is whole groups, row by row otherwise. */
import { type RawBuilder, sql } from "kysely";
import { countOfAll } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { and, MANY_RANGES, seekCondition, source, within } from "./conditions.ts";
import type { Entries, Selection } from "./selection.ts";

export interface RowCount {
  /** Undefined for many rows, if counting them would take longer than reading a page of them. */
  readonly total: number | undefined;
  /** Upper bound of the rows in root outside of the caller's scopes. */
  readonly rootRows: number;
  /** Rows that are read to find all rows; left out if it is no more than `total`. */
  readonly effort?: number;
}

export async function countRows(selection: Selection, db: ReadDb): Promise<RowCount & { readonly total: number }> {
  const { view, resource, counted } = selection;
  if (view.counted === undefined) return countAll(selection, db);
  const rootRows = await countRootRows(selection, db);
  const { groups, direct, itself } = view.counted;
  const counts = await countOfAll(db, counted, groups);
  // A group is in its own scope; rows of other resources never have a group's uid.
  const themselves = itself && resource.table === "group" ? groups.length : 0;
  return { total: rootRows + themselves + (direct ? counts.direct : counts.below), rootRows };
}

/** Counts the rows that meet all conditions, one by one. */
export async function countAll(selection: Selection, db: ReadDb): Promise<RowCount & { readonly total: number }> {
  const { view, rootRows, entries } = selection;
  if (entries !== undefined && rootRows === undefined) return { total: await countEntries(entries, selection, db), rootRows: 0 };
  const where = seekCondition(selection, db.dialect, view.conditions.length > 0 && view.ranges.length > MANY_RANGES ? "test" : "seek");
  const total = await count(sql`select count(*) as n from ${source(selection, db.dialect)} where ${where}`, db);
  return { total, rootRows: rootRows === undefined ? 0 : total };
}

/** The size of a list over all its pages. */
export interface ListSize {
  /** At most one more than asked for. */
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Measures the rows that meet all conditions, without reading their bodies.
 * @param bytesOfRow SQL of the bytes that a row adds to the list
 */
export async function measureRows(
  selection: Selection,
  { maxRows, bytesOfRow }: { readonly maxRows: number; readonly bytesOfRow: RawBuilder<unknown> },
  db: ReadDb,
): Promise<ListSize> {
  const where = seekCondition({ ...selection, after: undefined }, db.dialect);
  const { rows } = await sql<{ n: number; bytes: number }>`select count(*) as n, sum(measured.bytes) as bytes from (
    select ${bytesOfRow} as bytes from ${source(selection, db.dialect)} where ${where} limit ${maxRows + 1}) as measured`.execute(db);
  return { rows: Number(rows[0]?.n ?? 0), bytes: Number(rows[0]?.bytes ?? 0) };
}

async function countEntries({ table, uid, where, isRepeated }: Entries, { view }: Selection, db: ReadDb): Promise<number> {
  const isVisible = within(view.ranges, uid, db.dialect);
  const each = isRepeated ? sql`distinct ${uid}` : sql`*`;
  return count(sql`select count(${each}) as n from ${sql.table(table)} where ${and([where, isVisible])}`, db);
}

async function countRootRows(selection: Selection, db: ReadDb): Promise<number> {
  const rows = rootCount(selection);
  return rows === undefined ? 0 : count(sql`select ${rows} as n`, db);
}

/** SQL of the number of visible rows in root. */
export function rootCount({ resource, rootRows }: Selection): RawBuilder<unknown> | undefined {
  if (rootRows === undefined) return undefined;
  return sql`(select count(*) from ${sql.table(resource.table)} where ${rootRows.condition})`;
}

async function count(query: RawBuilder<unknown>, db: ReadDb): Promise<number> {
  const { rows } = await sql<{ n: number }>`${query}`.execute(db);
  return Number(rows[0]?.n ?? 0);
}
