/** Reads the rows that an organization takes along, a page at a time. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import type { TableShape } from "../db/table-columns.ts";
import type { Cell } from "./export-format.ts";
import type { CarriedTable } from "./organization-tables.ts";

const ROWS_PER_PAGE = 1000;
/** Rows with bytes may be large. */
const ROWS_WITH_BYTES_PER_PAGE = 50;
const RELEASED = ["lease_holder", "lease_time"];

type Row = Record<string, Cell | Uint8Array>;

/** In the order of the primary key, so that a group comes before those below it. */
export async function* readOrganizationRows(
  db: ReadDb,
  shape: TableShape,
  ownership: CarriedTable,
  organization: string,
): AsyncIterable<Cell[]> {
  const { name, columns, bytes, key } = shape;
  if (ownership.read !== undefined) {
    for await (const row of ownership.read(db, organization)) yield columns.map((column) => row[column] ?? null);
    return;
  }
  const limit = bytes.length > 0 ? ROWS_WITH_BYTES_PER_PAGE : ROWS_PER_PAGE;
  const keys = sql.join(key.map((column) => sql.ref(column)));
  const selected = sql.join([
    ...columns.map((column) => selectionOf(column, ownership)),
    ...key.map((column, at) => keyColumn(column, at)),
  ]);
  for (let after: RawBuilder<boolean> = sql`1 = 1`; ; ) {
    const { rows } = await sql<Row>`select ${selected} from ${sql.table(name)}
      where ${ownership.rowsOf(organization)} and ${after} order by ${keys} limit ${limit}`.execute(db);
    for (const row of rows) yield columns.map((column) => cellOf(row[column] ?? null));
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = sql`(${keys}) > (${sql.join(key.map((_, at) => last[`key_${at}`]))})`;
  }
}

/** Replacements do not change the key. */
function keyColumn(column: string, at: number): RawBuilder<unknown> {
  return sql`${sql.ref(column)} as ${sql.ref(`key_${at}`)}`;
}

function selectionOf(column: string, { replaced }: CarriedTable): RawBuilder<unknown> {
  const value = replaced?.[column] ?? (RELEASED.includes(column) ? sql`null` : sql.ref(column));
  return sql`${value} as ${sql.ref(column)}`;
}

function cellOf(value: Cell | Uint8Array): Cell {
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
}

/** Whether the organization has rows. */
export async function hasRows(db: ReadDb, table: string, ownership: CarriedTable, organization: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where ${ownership.rowsOf(organization)} limit 1`.execute(db);
  return rows.length > 0;
}
