/** Compares the rows of blobs with the blob store. */
import { sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import { hasDigest } from "./digest.ts";
import { type BlobReference, cacheReferences, contentReferences, isReferenced } from "./references.ts";
import { type BlobStore, NoSuchBlob } from "./store.ts";

const ROWS_PER_PAGE = 500;

export interface BlobCheckOptions {
  readonly db: ReadDb;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  /** Reads all bytes and compares their hashes; otherwise only whether they are there. */
  readonly readsAll: boolean;
  onBlob(size: number): void;
  onProblem(problem: string): void;
}

/**
 * A lost blob that nothing refers to is not a problem: collection removes its row. Neither is a lost blob of a cache, which
 * is built again.
 * @returns the number of blobs
 */
export async function checkBlobs(options: BlobCheckOptions): Promise<{ readonly blobs: number; readonly bytes: number }> {
  const { db, references, onBlob, onProblem } = options;
  const total = { blobs: 0, bytes: 0 };
  for (let after = ""; ; ) {
    const { rows } = await sql<{
      digest: string;
      size: number;
      used: unknown;
      cached: unknown;
    }>`select digest, size, ${isReferenced(contentReferences(references), sql`blob.digest`)} as used,
      ${isReferenced(cacheReferences(references), sql`blob.digest`)} as cached
      from blob where digest > ${after} order by digest limit ${ROWS_PER_PAGE}`.execute(db);
    for (const { digest, size, used, cached } of rows) {
      const problem = used ? await problemOf(digest, size, options) : cached ? await damageOfCache(digest, size, options) : undefined;
      if (problem !== undefined) onProblem(`the blob ${digest} ${problem}`);
      total.blobs++;
      total.bytes += size;
      onBlob(size);
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.digest;
  }
  for (const reference of references) await checkReference(db, reference, onProblem);
  return total;
}

async function problemOf(digest: string, size: number, { blobs, readsAll }: BlobCheckOptions): Promise<string | undefined> {
  // A file may be longer than its blob. Readers stop at the recorded size.
  const isLost = (await blobs.hasLost(digest, size)) || ((await blobs.stat(digest))?.size ?? -1) < size;
  if (isLost) return `has lost its ${size} bytes; push or publish the content again, or restore a backup`;
  switch (readsAll ? await compareDigest(digest, size, blobs) : "equal") {
    case "equal":
      return undefined;
    case "gone":
      return "was removed meanwhile";
    case "different":
      return "is damaged: its bytes have another digest; restore it from a backup";
  }
}

async function damageOfCache(digest: string, size: number, { blobs, readsAll }: BlobCheckOptions): Promise<string | undefined> {
  const isDamaged = readsAll && (await compareDigest(digest, size, blobs)) === "different";
  return isDamaged ? "is damaged: its bytes have another digest; it is a cached feed, so delete its file or object" : undefined;
}

async function compareDigest(digest: string, size: number, blobs: BlobStore): Promise<"equal" | "different" | "gone"> {
  if (size === 0) return "equal";
  try {
    const bytes = await blobs.read(digest, { start: 0, end: size - 1 });
    return (await hasDigest(bytes, digest)) ? "equal" : "different";
  } catch (error) {
    if (error instanceof NoSuchBlob) return "gone";
    throw error;
  }
}

async function checkReference(db: ReadDb, { table, column }: BlobReference, onProblem: (problem: string) => void): Promise<void> {
  const holder = sql.ref(`holder.${column}`);
  const { rows } = await sql<{ digest: string }>`select distinct ${holder} as digest from ${sql.table(table)} as holder
    where not exists (select 1 from blob where blob.digest = ${holder}) order by 1 limit 100`.execute(db);
  for (const { digest } of rows) onProblem(`a row of ${table} refers to the blob ${digest}, which the database does not know`);
}
