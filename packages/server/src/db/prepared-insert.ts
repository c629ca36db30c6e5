/** Inserts of one row whose SQL text is built once for each table and its columns. */
import type { CompiledQuery, Insertable } from "kysely";
import type { Schema } from "./schema.ts";
import type { WriteDb } from "./store.ts";

/** By store, table and columns, which only code decides. */
const inserts = new Map<string, CompiledQuery>();

/** @param row values that the driver takes as they are; no expressions */
export function preparedInsert<Table extends keyof Schema & string>(
  db: WriteDb,
  table: Table,
  row: Insertable<Schema[Table]>,
): CompiledQuery {
  const columns = Object.keys(row);
  const name = `${db.dialect.name} ${table} ${columns}`;
  let query = inserts.get(name);
  if (query === undefined) {
    // The statement outlives the row.
    const anyRow = Object.fromEntries(columns.map((column) => [column, ""]));
    query = db
      .insertInto(table)
      .values(anyRow as never)
      .compile();
    inserts.set(name, query);
  }
  return { ...query, parameters: Object.values(row) };
}
