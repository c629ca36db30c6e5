/** Statements over many rows of the tables of advisories, of few shapes, so that they stay prepared. */
import { CompiledQuery, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import type { Schema } from "../../db/schema.ts";
import type { WriteDb } from "../../db/store.ts";

/** Columns by which a row that is there already is replaced; none, and it is left as it is; or that it is an error (ConstraintError). */
type Key<T> = readonly (keyof T & string)[] | "new";

export async function insertRows<T extends object>(db: WriteDb, table: keyof Schema, key: Key<T>, rows: readonly T[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first) as (keyof T & string)[];
  const executor = db.getExecutor();
  for (let start = 0, size = db.dialect.rowsPerInsert; start < rows.length; ) {
    while (size > rows.length - start) size /= 2;
    const insertion = insertionOf(db.dialect, table, key, columns, size);
    for (; start + size <= rows.length; start += size) {
      const parameters: unknown[] = [];
      for (let index = start; index < start + size; index++) for (const column of columns) parameters.push(rows[index]?.[column]);
      await executor.executeQuery({ ...insertion, parameters });
    }
  }
}

/** By what they insert. To put a statement together would take longer than to run it. There are few. */
const insertions = new Map<string, CompiledQuery>();

function insertionOf(
  dialect: Dialect,
  table: string,
  key: readonly string[] | "new",
  columns: readonly string[],
  size: number,
): CompiledQuery {
  const name = [dialect.name, table, size, key, columns].join(" ");
  const known = insertions.get(name);
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
  const insertion = CompiledQuery.raw(`insert into ${table} (${columns.join(", ")}) values ${values}${conflict}`);
  insertions.set(name, insertion);
  return insertion;
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
