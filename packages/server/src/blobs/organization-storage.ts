/** The bytes of an organization in the blob store, and their limit. */
import { sql } from "kysely";
import { limitExceeded, lockLimit } from "../db/organization-limits.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { rangeBelow, rootOf } from "../lib/uid.ts";
import { type BlobReference, contentReferences } from "./references.ts";

const MEGABYTE = 1_000_000;

/** Content that several holders share counts once, caches do not count. Reads all links of the organization. */
export async function storageOf(db: ReadDb, orgUid: string, references: readonly BlobReference[]): Promise<number> {
  const counted = contentReferences(references);
  if (counted.length === 0) return 0;
  const { lower, upper } = rangeBelow(orgUid);
  const digests = counted.map(
    ({ table, column, holder }) =>
      sql`select ${sql.ref(column)} as digest from ${sql.table(table)} where ${sql.ref(holder)} >= ${lower} and ${sql.ref(holder)} < ${upper}`,
  );
  const { rows } = await sql<{ bytes: number }>`select cast(coalesce(sum(size), 0) as bigint) as bytes from blob
    where digest in (${sql.join(digests, sql` union `)})`.execute(db);
  return Number(rows[0]?.bytes ?? 0);
}

/**
 * Call it after the blob is linked, in its transaction. Costs one look-up in an organization without the limit.
 * @throws RESOURCE_EXHAUSTED
 */
export async function assertStorageAllowed(db: WriteDb, holderUid: string, references: readonly BlobReference[]): Promise<void> {
  const orgUid = rootOf(holderUid);
  const limit = await lockLimit(db, orgUid, "storage_mb");
  if (limit === undefined) return;
  const usage = await storageOf(db, orgUid, references);
  if (usage > limit * MEGABYTE) throw limitExceeded({ name: "storage_mb", limit, usage: Math.ceil(usage / MEGABYTE) });
}
