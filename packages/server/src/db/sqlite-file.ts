/** Reads a table out of a SQLite file that a stranger made. Such a file may hold queries of its own, so nothing of it is run but a walk along one plain table. */
import { DatabaseSync } from "node:sqlite";

export interface StrangersTable {
  readonly table: string;
  readonly column: string;
  /** What the file must say that the table is: a view or a computed column would make us work for whoever wrote it. */
  readonly definition: RegExp;
  /** Larger values are left out. */
  readonly maxBytes: number;
}

/** @throws Error where the file is no such database, or is damaged from somewhere on */
export function* readStrangersTable(path: string, { table, column, definition, maxBytes }: StrangersTable): Generator<Uint8Array> {
  using database = new DatabaseSync(path, { readOnly: true, allowExtension: false });
  database.exec("pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0; pragma cache_size = -8192");
  const found = database.prepare("select type, sql from sqlite_schema where name = ? limit 2").all(table);
  const [only] = found;
  if (found.length !== 1 || only?.type !== "table" || typeof only.sql !== "string" || !definition.test(only.sql))
    throw new Error(`it has no table ${table} of the usual form`);
  // The length of a value is in its record; the value itself is only read where it is wanted.
  const rows = database.prepare(`select "${column}" as value from "${table}" where length("${column}") <= ?`).iterate(maxBytes);
  for (const { value } of rows) if (value instanceof Uint8Array) yield value;
}
