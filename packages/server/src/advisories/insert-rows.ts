/** Statements over many rows of the tables of advisories, of few shapes, so that they stay prepared. */
import { sql } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { WriteDb } from "../db/store.ts";

/** Rows of one statement, and of each further one half as many. */
const MAX_ROWS = 64;

/** @param key by which a row that is there already is replaced; without one it is left as it is */
export async function insertRows<T extends object>(
  db: WriteDb,
  table: keyof Schema,
  key: readonly (keyof T & string)[],
  rows: readonly T[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first) as (keyof T & string)[];
  const replaced = columns.filter((column) => !key.includes(column)).map((column) => sql`${sql.ref(column)} = excluded.${sql.ref(column)}`);
  const conflict = key.length === 0 ? sql`nothing` : sql`update set ${sql.join(replaced)}`;
  const target = key.length === 0 ? sql`` : sql`(${sql.join(key.map((column) => sql.ref(column)))})`;
  const names = sql.join(columns.map((column) => sql.ref(column)));
  for (let start = 0, size = MAX_ROWS; start < rows.length; ) {
    while (size > rows.length - start) size /= 2;
    const values = rows.slice(start, start + size).map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
    await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(values)} on conflict ${target} do ${conflict}`.execute(db);
    start += size;
  }
}

/** Removes what these advisories have beside the given rows. */
export async function keepOnly<Column extends string>(
  db: WriteDb,
  table: "advisory_alias" | "advisory_term",
  column: Column,
  advisories: readonly string[],
  kept: readonly { readonly [name in Column | "advisory_uid"]: string }[],
): Promise<void> {
  const rows = db.dialect.rowsOf(kept as readonly Record<string, string>[], { advisory_uid: "text", [column]: "text" });
  await sql`delete from ${sql.table(table)} where advisory_uid in (select a.value from ${db.dialect.valuesOf(advisories)} as a)
    and (advisory_uid, ${sql.ref(column)}) not in (select k.advisory_uid, k.${sql.ref(column)} from ${rows} as k)`.execute(db);
}
