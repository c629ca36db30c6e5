/** Reads which columns the tables of the database have. */
import { sql } from "kysely";
import type { ReadDb } from "./store.ts";

export interface TableColumn {
  readonly table: string;
  readonly column: string;
  /** 1 if values are bytes. Other values are texts, or integers of at most 2^53. */
  readonly bytes: number;
  /** Place in the primary key, counted from 1; 0 for a column outside of it. */
  readonly key: number;
  /** 1 if the database numbers the rows in this column. */
  readonly numbered: number;
}

export interface TableShape {
  readonly name: string;
  /** Without those that the database computes. */
  readonly columns: readonly string[];
  readonly bytes: readonly string[];
  /** The primary key. */
  readonly key: readonly string[];
  /** The column in which the database numbers the rows; undefined for none. */
  readonly numbered: string | undefined;
}

/** By the name of the table. */
export async function readTableShapes(db: ReadDb): Promise<ReadonlyMap<string, TableShape>> {
  const { rows } = await sql<TableColumn>`${sql.raw(db.dialect.tableColumns)}`.execute(db);
  return new Map([...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => [name, shapeOf(name, columns)]));
}

function shapeOf(name: string, columns: readonly TableColumn[]): TableShape {
  const key = columns.filter((column) => column.key > 0).toSorted((a, b) => a.key - b.key);
  return {
    name,
    columns: columns.map(({ column }) => column),
    bytes: columns.filter(({ bytes }) => bytes === 1).map(({ column }) => column),
    key: key.map(({ column }) => column),
    numbered: columns.find(({ numbered }) => numbered === 1)?.column,
  };
}
