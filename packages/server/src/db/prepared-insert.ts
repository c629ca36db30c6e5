/** Inserts of one row whose SQL text is built once for each table and its columns. */
import { type CompiledQuery, type Insertable, QueryCreator } from "kysely";
import { prepareEach } from "./prepared.ts";
import type { Schema } from "./schema.ts";
import type { WriteDb } from "./store.ts";

interface InsertForm {
  readonly table: keyof Schema & string;
  readonly columns: readonly string[];
}

/** More than there are: only code decides on tables and columns. */
const MAX_FORMS = 200;

const insertInto = prepareEach<InsertForm, Record<string, unknown>, unknown>(
  ({ table, columns }) =>
    (db, param) => {
      const row = Object.fromEntries(columns.map((column) => [column, param(column)]));
      return new QueryCreator<Schema>({ executor: db.getExecutor() })
        .insertInto(table)
        .values(row as never)
        .compile();
    },
  ({ table, columns }) => `${table} ${columns}`,
  { capacity: MAX_FORMS },
);

/** @param row values that the driver takes as they are; no expressions */
export function preparedInsert<Table extends keyof Schema & string>(
  db: WriteDb,
  table: Table,
  row: Insertable<Schema[Table]>,
): CompiledQuery {
  return insertInto({ table, columns: Object.keys(row) }).bind(db, row);
}
