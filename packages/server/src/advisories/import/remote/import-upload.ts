/** The upload of an import's file in chunks: an acknowledged chunk is on the disk, and its digest is in the database. */
import { createHash, randomUUID } from "node:crypto";
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { ReadDb, WriteDb } from "../../../db/store.ts";
import { failedPrecondition, type HoltError, invalidArgument, outOfRange, resourceExhausted } from "../../../lib/errors.ts";
import { newUid, rootOf } from "../../../lib/uid.ts";
import { type ImportRow, lockImport, newImportRow } from "./import-row.ts";

/** Bytes per chunk: 4,000,000 characters of base64, which fit into a message. */
const MAX_CHUNK_BYTES = 3_000_000;
/** Chunks per file: single bytes would fill the database with the list of chunks. */
const MAX_CHUNKS = 10_000;
/** Unfinished imports per organization. */
const MAX_UNFINISHED = 8;

export interface UploadParts {
  readonly db: ReadDb;
  readonly files: StagedFiles;
  /** Bytes of a file. */
  readonly maxBytes: number;
}

/** A chunk as it was sent. */
export interface Chunk {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** A chunk that is on the disk. */
export interface StoredChunk {
  readonly offset: number;
  readonly size: number;
  readonly sha256: string;
}

/** @throws RESOURCE_EXHAUSTED where the organization has too many unfinished imports */
export async function beginImport(
  db: WriteDb,
  given: Pick<ImportRow, "kind" | "file_name" | "parent" | "creator"> & Partial<ImportRow>,
  now: Date,
): Promise<ImportRow> {
  const orgUid = rootOf(given.parent);
  // Two transactions must not count at the same time.
  await db.dialect.forUpdate(db.selectFrom("group").select("uid").where("uid", "=", orgUid)).executeTakeFirst();
  const unfinished = await db
    .selectFrom("advisory_import")
    .select("uid")
    .where("org_uid", "=", orgUid)
    .where("end_time", "is", null)
    .where("mirror_uid", "is", null)
    .limit(MAX_UNFINISHED)
    .execute();
  if (unfinished.length === MAX_UNFINISHED)
    throw resourceExhausted(`the organization has ${MAX_UNFINISHED} unfinished imports: wait for one, or delete one`);
  const row = newImportRow({ ...given, uid: newUid(given.parent), file: randomUUID() }, now.toISOString());
  await db.insertInto("advisory_import").values(row).execute();
  return row;
}

/**
 * Writes the chunk to the disk if it is the next one. Does nothing if it was received before.
 * @throws OUT_OF_RANGE where it is neither; FAILED_PRECONDITION where the import was started; INVALID_ARGUMENT; UNAVAILABLE
 */
export async function storeChunk(row: ImportRow, chunk: Chunk, { db, files, maxBytes }: UploadParts): Promise<StoredChunk> {
  const { offset, bytes } = chunk;
  if (bytes.length === 0 || bytes.length > MAX_CHUNK_BYTES) throw invalidArgument("data", `data must have 1 to ${MAX_CHUNK_BYTES} bytes`);
  const stored = { offset, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  if (await isNext(db, row, stored)) {
    if (offset + bytes.length > maxBytes)
      throw invalidArgument("data", `the file would be larger than ${maxBytes} bytes, the limit of this server`);
    await files.write(row.file, offset, bytes);
  }
  return stored;
}

/** Records the chunk as received. @throws as storeChunk */
export async function acknowledgeChunk(db: WriteDb, uid: string, chunk: StoredChunk, now: Date): Promise<ImportRow> {
  const row = await lockImport(db, uid);
  if (!(await isNext(db, row, chunk))) return row;
  const { offset, size, sha256 } = chunk;
  await db.insertInto("advisory_import_part").values({ import_uid: uid, part_offset: offset, size, sha256 }).execute();
  const change = { received_bytes: offset + size, write_time: now.toISOString() };
  await db.updateTable("advisory_import").set(change).where("uid", "=", uid).execute();
  return { ...row, ...change };
}

/** Whether the chunk is the next one; false if it was received before. */
async function isNext(db: ReadDb, row: ImportRow, { offset, size, sha256 }: StoredChunk): Promise<boolean> {
  const { received_bytes: received } = row;
  if (offset < received) {
    const part = await db
      .selectFrom("advisory_import_part")
      .select(["size", "sha256"])
      .where("import_uid", "=", row.uid)
      .where("part_offset", "=", offset)
      .executeTakeFirst();
    if (part?.size === size && part.sha256 === sha256) return false;
  }
  if (row.state !== "uploading")
    throw failedPrecondition("IMPORT_STARTED", "the import was started, and its file cannot grow any more: create another import");
  if (offset !== received) throw wrongOffset(received);
  await assertFewChunks(db, row.uid);
  return true;
}

function wrongOffset(received: number): HoltError {
  return outOfRange(`${received} bytes were received: send the bytes after them, with offset ${received}`, {
    received_bytes: String(received),
  });
}

async function assertFewChunks(db: ReadDb, uid: string): Promise<void> {
  const { n } = await db
    .selectFrom("advisory_import_part")
    .select(({ fn }) => fn.countAll().as("n"))
    .where("import_uid", "=", uid)
    .executeTakeFirstOrThrow();
  if (Number(n) >= MAX_CHUNKS)
    throw resourceExhausted(
      `the file has ${MAX_CHUNKS} chunks already: create another import and send chunks of up to ${MAX_CHUNK_BYTES} bytes`,
    );
}
