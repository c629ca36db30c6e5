/** Inserts any number of rows with one statement that does not depend on their number. */
import { sql } from "kysely";
import type { RowColumns } from "../../db/dialect.ts";
import type { Schema } from "../../db/schema.ts";
import type { WriteDb } from "../../db/store.ts";

export const IF_NEW = sql`on conflict do nothing`;

/** @param onConflict nothing where a row that is there already is an error */
export async function insertRows<T extends object>(
  db: WriteDb,
  table: keyof Schema,
  rows: readonly T[],
  columns: RowColumns<T>,
  onConflict = sql``,
): Promise<void> {
  if (rows.length === 0) return;
  const names = sql.join(Object.keys(columns).map((column) => sql.ref(column)));
  // SQLite takes the conflict clause for a join's condition where nothing stands between.
  await sql`insert into ${sql.table(table)} (${names}) select ${names} from ${db.dialect.rowsOf(rows, columns)} as r where true ${onConflict}`.execute(
    db,
  );
}

/** Where a row of this key is there already, it gets these columns. */
export function orUpdate(key: string, columns: readonly string[]) {
  const set = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
  return sql`on conflict (${sql.ref(key)}) do update set ${sql.join(set)}`;
}
