/** How the file of an import comes, piece by piece: what is acknowledged is on the disk, and in the database with its digest. */
import { createHash, randomUUID } from "node:crypto";
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { ReadDb, WriteDb } from "../../../db/store.ts";
import { failedPrecondition, type HoltError, invalidArgument, outOfRange, resourceExhausted } from "../../../lib/errors.ts";
import { newUid, rootOf } from "../../../lib/uid.ts";
import { type ImportRow, lockImport, newImportRow } from "./import-row.ts";

/** As base64 it is 4,000,000 characters, which fit into a message. */
export const MAX_PIECE = 3_000_000;
/** Of a file: who sends it by the byte would fill the database with the list of them. */
const MAX_PIECES = 10_000;
/** Of an organization. */
const MAX_UNFINISHED = 8;

/** A piece as it was sent. */
export interface Piece {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** A piece that is on the disk. */
export interface StoredPiece {
  readonly offset: number;
  readonly size: number;
  readonly sha256: string;
}

/** @throws RESOURCE_EXHAUSTED where the organization has too many */
export async function beginImport(
  db: WriteDb,
  given: Pick<ImportRow, "kind" | "file_name" | "parent" | "creator">,
  now: Date,
): Promise<ImportRow> {
  const orgUid = rootOf(given.parent);
  // So that no two count at once.
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
    throw resourceExhausted(`the organization has ${MAX_UNFINISHED} imports that are not finished: wait for one, or delete one`);
  const row = newImportRow({ ...given, uid: newUid(given.parent), file: randomUUID() }, now.toISOString());
  await db.insertInto("advisory_import").values(row).execute();
  return row;
}

/**
 * Writes the piece to the disk where it is the next one; where it was received already, there is nothing to do.
 * @throws OUT_OF_RANGE where it is neither; FAILED_PRECONDITION where the import was started; INVALID_ARGUMENT; UNAVAILABLE
 */
export async function storePiece(db: ReadDb, files: StagedFiles, row: ImportRow, piece: Piece, maxBytes: number): Promise<StoredPiece> {
  const { offset, bytes } = piece;
  if (bytes.length === 0 || bytes.length > MAX_PIECE) throw invalidArgument("data", `data must have 1 to ${MAX_PIECE} bytes`);
  const stored = { offset, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  if (await isNext(db, row, stored)) {
    if (offset + bytes.length > maxBytes)
      throw invalidArgument("data", `the file would be larger than ${maxBytes} bytes, which is as large as this server takes one`);
    await files.write(row.file, offset, bytes);
  }
  return stored;
}

/** Counts the piece as received. @throws as storePiece */
export async function acknowledgePiece(db: WriteDb, uid: string, piece: StoredPiece, now: Date): Promise<ImportRow> {
  const row = await lockImport(db, uid);
  if (!(await isNext(db, row, piece))) return row;
  const { offset, size, sha256 } = piece;
  await db.insertInto("advisory_import_part").values({ import_uid: uid, part_offset: offset, size, sha256 }).execute();
  const change = { received_bytes: offset + size, write_time: now.toISOString() };
  await db.updateTable("advisory_import").set(change).where("uid", "=", uid).execute();
  return { ...row, ...change };
}

/** False where it was received before. */
async function isNext(db: ReadDb, row: ImportRow, { offset, size, sha256 }: StoredPiece): Promise<boolean> {
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
    throw failedPrecondition("IMPORT_STARTED", "the import was started, and its file takes no more: begin another one");
  if (offset !== received) throw wrongOffset(received);
  await assertFewPieces(db, row.uid);
  return true;
}

function wrongOffset(received: number): HoltError {
  return outOfRange(`${received} bytes were received: send what comes after them, with offset ${received}`, {
    received_bytes: String(received),
  });
}

async function assertFewPieces(db: ReadDb, uid: string): Promise<void> {
  const { n } = await db
    .selectFrom("advisory_import_part")
    .select(({ fn }) => fn.countAll().as("n"))
    .where("import_uid", "=", uid)
    .executeTakeFirstOrThrow();
  if (Number(n) >= MAX_PIECES)
    throw resourceExhausted(
      `the file came in ${MAX_PIECES} pieces already: begin another import and send pieces of up to ${MAX_PIECE} bytes`,
    );
}
