/**
 * Reads a table of an untrusted SQLite file. Such a file may define views and triggers, so the only query scans one
 * plain table.
 */
import { DatabaseSync } from "node:sqlite";

export interface UntrustedTable {
  readonly table: string;
  readonly column: string;
  /** Must match the table's SQL definition: a view or a computed column would run code of the file's author. */
  readonly definition: RegExp;
  /** Larger values are skipped. */
  readonly maxBytes: number;
}

/** Yields the blobs of the column. @throws Error if the file is not such a database or is corrupt */
export function* readUntrustedTable(path: string, { table, column, definition, maxBytes }: UntrustedTable): Generator<Uint8Array> {
  using database = new DatabaseSync(path, { readOnly: true, allowExtension: false });
  database.exec("pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0; pragma cache_size = -8192");
  const found = database.prepare("select type, sql from sqlite_schema where name = ? limit 2").all(table);
  const [only] = found;
  if (found.length !== 1 || only?.type !== "table" || typeof only.sql !== "string" || !definition.test(only.sql))
    throw new Error(`it has no table ${table} of the expected form`);
  // SQLite knows the length of a value without reading the value.
  const rows = database.prepare(`select "${column}" as value from "${table}" where length("${column}") <= ?`).iterate(maxBytes);
  for (const { value } of rows) if (value instanceof Uint8Array) yield value;
}
