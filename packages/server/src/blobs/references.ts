/** Finds the rows that refer to a blob. Domains declare their columns, and garbage collection queries all of them. */
import { type RawBuilder, sql } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { ReadDb } from "../db/store.ts";
import { rangeBelow } from "../lib/uid.ts";

/** A column that contains digests of blobs. It needs an index, which goes on with the holder unless the table is a cache. */
export interface BlobReference {
  readonly table: keyof Schema;
  readonly column: string;
  /** Column with the uid of the holder, whose organization the bytes count for. */
  readonly holder: string;
  /**
   * The holder can build the content again. Collection keeps such content like other content, but it does not count for an
   * organization, backups leave it out, and its loss is not a problem.
   */
  readonly isCache?: true;
}

/** The columns without those of caches. */
export function contentReferences(references: readonly BlobReference[]): readonly BlobReference[] {
  return references.filter(({ isCache }) => isCache !== true);
}

/** The columns of caches. */
export function cacheReferences(references: readonly BlobReference[]): readonly BlobReference[] {
  return references.filter(({ isCache }) => isCache === true);
}

/** Whether any row refers to the blob. Uses `limit 1`, because PostgreSQL would read whole tables for `exists`. */
export function isReferenced(references: readonly BlobReference[], digest: RawBuilder<unknown>): RawBuilder<boolean> {
  if (references.length === 0) return sql<boolean>`(1 = 0)`;
  const anyRow = references.map(
    ({ table, column }) =>
      sql<boolean>`(select 1 from ${sql.table(table)} as holder where ${sql.ref(`holder.${column}`)} = ${digest} limit 1) is not null`,
  );
  return sql<boolean>`(${sql.join(anyRow, sql` or `)})`;
}

/** The number of rows of the organization that refer to a blob; of each kind of holder, at most `limit` count. */
export function countReferencesUpTo(
  limit: number,
  references: readonly BlobReference[],
  { digest, orgUid }: { readonly digest: RawBuilder<unknown>; readonly orgUid: string },
): RawBuilder<number> {
  const { lower, upper } = rangeBelow(orgUid);
  const counts = references.map(
    ({ table, column, holder }) =>
      sql`(select count(*) from (select 1 from ${sql.table(table)} as holder where ${sql.ref(`holder.${column}`)} = ${digest}
        and ${sql.ref(`holder.${holder}`)} >= ${lower} and ${sql.ref(`holder.${holder}`)} < ${upper} limit ${limit}) as h)`,
  );
  return sql<number>`cast(${sql.join(counts, sql` + `)} as integer)`;
}

/** The number of rows that refer to a blob. */
export async function countReferences(db: ReadDb, references: readonly BlobReference[], digest: string): Promise<number> {
  const counts = references.map(
    ({ table, column }) => sql`(select count(*) from ${sql.table(table)} as holder where ${sql.ref(`holder.${column}`)} = ${digest})`,
  );
  const { rows } = await sql<{ n: number }>`select cast(${sql.join(counts, sql` + `)} as integer) as n`.execute(db);
  return rows[0]?.n ?? 0;
}
