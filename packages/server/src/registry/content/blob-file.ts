/** The file of a blob in a repo, which parsers on threads read by its path. */
import { open } from "node:fs/promises";
import type { BlobStore } from "../../blobs/store.ts";
import type { ReadDb } from "../../db/store.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";

export interface BlobFile {
  readonly digest: string;
  readonly path: string;
  /** Bytes of the blob. The file may be longer. */
  readonly size: number;
}

/** Undefined if the repo does not link the blob. */
export async function findBlobFile(db: ReadDb, blobs: BlobStore, repoUid: string, digest: string): Promise<BlobFile | undefined> {
  const size = await findBlobSize(db, repoUid, digest);
  return size === undefined ? undefined : { digest, path: blobs.path(digest), size };
}

/** Undefined if the repo does not link the blob. */
export async function findBlobSize(db: ReadDb, repoUid: string, digest: string): Promise<number | undefined> {
  const link = await db
    .selectFrom("repo_blob as l")
    .innerJoin("blob as b", "b.digest", "l.digest")
    .select("b.size")
    .where("l.repo_uid", "=", repoUid)
    .where("l.digest", "=", digest)
    .executeTakeFirst();
  return link?.size;
}

/** @throws FAILED_PRECONDITION above the limit; NOT_FOUND if the file has lost the bytes */
export async function readBlobFile({ digest, path, size }: BlobFile, maxBytes: number): Promise<Buffer> {
  if (size > maxBytes) throw tooLarge(digest, maxBytes);
  const bytes = Buffer.alloc(size);
  try {
    await using file = await open(path);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    if (bytesRead === size) return bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  throw notFound("Blob", digest);
}

export function tooLarge(digest: string, maxBytes: number): Error {
  return failedPrecondition("CONTENT_TOO_LARGE", `${digest} is larger than ${maxBytes >> 20} MiB; pull it from the registry instead`);
}

export function unreadable(digest: string, reason: string): Error {
  return failedPrecondition("CONTENT_UNREADABLE", `${digest} cannot be read: ${reason}`);
}
