/** Compares the rows of blobs with the blob store. */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import { type BlobReference, isReferenced } from "./references.ts";
import { type BlobStore, NoSuchBlob } from "./store.ts";

const ROWS_PER_PAGE = 500;

export interface BlobCheckOptions {
  readonly db: ReadDb;
  readonly blobs: BlobStore;
  readonly references: readonly BlobReference[];
  /** Reads all bytes and compares their hashes; otherwise only whether they are there, with the right size. */
  readonly readsAll: boolean;
  onBlob(size: number): void;
  onProblem(problem: string): void;
}

/** @returns the number of blobs. A lost blob that nothing refers to is not a problem: collection removes its row */
export async function checkBlobs(options: BlobCheckOptions): Promise<{ readonly blobs: number; readonly bytes: number }> {
  const { db, references, onBlob, onProblem } = options;
  const total = { blobs: 0, bytes: 0 };
  for (let after = ""; ; ) {
    const { rows } = await sql<{
      digest: string;
      size: number;
      used: unknown;
    }>`select digest, size, ${isReferenced(references, sql`blob.digest`)} as used
      from blob where digest > ${after} order by digest limit ${ROWS_PER_PAGE}`.execute(db);
    for (const { digest, size, used } of rows) {
      const problem = used ? await problemOf(digest, size, options) : undefined;
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
  const isLost = (await blobs.hasLost(digest, size)) || (await blobs.stat(digest))?.size !== size;
  if (isLost) return `has lost its ${size} bytes; push or publish the content again, or restore a backup`;
  if (!readsAll || size === 0) return undefined;
  const hash = createHash(digest.slice(0, digest.indexOf(":")));
  try {
    for await (const chunk of await blobs.read(digest, { start: 0, end: size - 1 })) hash.update(chunk as Buffer);
  } catch (error) {
    if (error instanceof NoSuchBlob) return "was removed meanwhile";
    throw error;
  }
  return digest.endsWith(`:${hash.digest("hex")}`) ? undefined : "is damaged: its bytes have another digest; restore it from a backup";
}

async function checkReference(db: ReadDb, { table, column }: BlobReference, onProblem: (problem: string) => void): Promise<void> {
  const holder = sql.ref(`holder.${column}`);
  const { rows } = await sql<{ digest: string }>`select distinct ${holder} as digest from ${sql.table(table)} as holder
    where not exists (select 1 from blob where blob.digest = ${holder}) order by 1 limit 100`.execute(db);
  for (const { digest } of rows) onProblem(`a row of ${table} refers to the blob ${digest}, which the database does not know`);
}
