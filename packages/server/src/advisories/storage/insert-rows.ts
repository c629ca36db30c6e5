/**
 * Inserts and deletes many rows of the tables of advisories, with few different statements, so that they stay prepared.
 */
import { CompiledQuery, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import type { RepeatedQuery } from "../../db/repeated.ts";
import type { Schema } from "../../db/schema.ts";
import type { WriteDb } from "../../db/store.ts";

/**
 * Decides about rows that exist: `[columns]` replaces the row with the same values there, `[]` keeps it, "new" fails
 * (ConstraintError).
 */
type ConflictKey<T> = readonly (keyof T & string)[] | "new";

export async function insertRows<T extends object>(
  db: WriteDb,
  table: keyof Schema,
  key: ConflictKey<T>,
  rows: readonly T[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first) as (keyof T & string)[];
  const executor = db.getExecutor();
  const parameters = rows.map((row) => columns.map((column) => row[column]));
  const { rowsPerInsert } = db.dialect;
  if (rowsPerInsert === 1) {
    const repeated: RepeatedQuery = { ...compileInsert(db.dialect, { table, key, columns, size: 1 }), parameters, isRepeated: true };
    await executor.executeQuery(repeated);
    return;
  }
  for (let start = 0, size = rowsPerInsert; start < rows.length; ) {
    while (size > rows.length - start) size /= 2;
    const insert = compileInsert(db.dialect, { table, key, columns, size });
    for (; start + size <= rows.length; start += size)
      await executor.executeQuery({ ...insert, parameters: parameters.slice(start, start + size).flat() });
  }
}

/** Compiled statements by their parameters. Building one takes longer than running it; there are few. */
const compiledInserts = new Map<string, CompiledQuery>();

interface InsertShape {
  readonly table: string;
  readonly key: readonly string[] | "new";
  readonly columns: readonly string[];
  /** Number of rows. */
  readonly size: number;
}

function compileInsert(dialect: Dialect, { table, key, columns, size }: InsertShape): CompiledQuery {
  const name = [dialect.name, table, size, key, columns].join(" ");
  const known = compiledInserts.get(name);
  if (known !== undefined) return known;
  const row = (index: number) => `(${columns.map((_, column) => dialect.placeholder(index * columns.length + column + 1)).join(", ")})`;
  const replaced = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  const conflict =
    key === "new"
      ? ""
      : key.length === 0
        ? " on conflict do nothing"
        : ` on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
  const values = Array.from({ length: size }, (_, index) => row(index)).join(", ");
  const insert = CompiledQuery.raw(`insert into ${table} (${columns.join(", ")}) values ${values}${conflict}`);
  compiledInserts.set(name, insert);
  return insert;
}

/** A table of strings by which advisories are found. */
export interface LinkTable<Column extends string> {
  readonly table: "advisory_alias" | "advisory_term";
  /** The column of the string. */
  readonly column: Column;
}

export type Link<Column extends string> = { readonly [name in Column | "advisory_uid"]: string };

/** Deletes the rows of these advisories that are not among `kept`. */
export async function deleteOtherLinks<Column extends string>(
  db: WriteDb,
  { table, column }: LinkTable<Column>,
  advisories: readonly string[],
  kept: readonly Link<Column>[],
): Promise<void> {
  const rows = db.dialect.rowsOf(kept as readonly Record<string, string>[], { advisory_uid: "text", [column]: "text" });
  await sql`delete from ${sql.table(table)} where advisory_uid in (select a.value from ${db.dialect.valuesOf(advisories)} as a)
    and (advisory_uid, ${sql.ref(column)}) not in (select k.advisory_uid, k.${sql.ref(column)} from ${rows} as k)`.execute(db);
}
