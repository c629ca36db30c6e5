/** Deletes many rows in many short transactions: in a long one, every other writer would wait for seconds. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import type { Pace } from "./pace.ts";

/** Rows of a table. */
export interface Rows {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  readonly condition: RawBuilder<boolean>;
}

/** @returns the number of rows that it deleted, at most `limit` */
export type DeleteChunk = (db: WriteDb, limit: number) => Promise<number>;

export interface ChunkOptions {
  readonly store: Pick<Store, "reader" | "transaction">;
  /** Rows per transaction. */
  readonly chunkSize: number;
  readonly pace?: Pace;
}

export async function deleteRows(db: WriteDb, { table, key, condition }: Rows, limit: number): Promise<number> {
  const columns = sql.join(key.map((column) => sql.ref(column)));
  const chosen = sql`select ${columns} from ${sql.table(table)} where ${condition} limit ${limit}`;
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in (${chosen})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Runs `deleteChunk` in one transaction after the other, until it finds less than a chunk. */
export async function deleteInChunks({ store, chunkSize, pace = (part) => part() }: ChunkOptions, deleteChunk: DeleteChunk): Promise<void> {
  while ((await pace(() => store.transaction((db) => deleteChunk(db, chunkSize)))) >= chunkSize);
}

/**
 * Deletes rows until at most one chunk is left, which the caller deletes in a last transaction of its own. Does nothing
 * where there are few rows.
 */
export async function deleteAllButLastChunk({ store, chunkSize }: ChunkOptions, rows: Rows, deleteChunk: DeleteChunk): Promise<void> {
  while (await hasMoreThan(store.reader, rows, chunkSize)) await store.transaction((db) => deleteChunk(db, chunkSize));
}

async function hasMoreThan(db: ReadDb, { table, condition }: Rows, count: number): Promise<boolean> {
  const query = sql`select 1 from ${sql.table(table)} where ${condition} limit 1 offset ${count}`;
  return (await query.execute(db)).rows.length > 0;
}
