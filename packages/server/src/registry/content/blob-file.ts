/** The file of a blob in a repo, which parsers on threads read by its path. */
import { open } from "node:fs/promises";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import type { ReadDb } from "../../db/store.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";

export interface BlobFile extends RepoBlob {
  readonly path: string;
}

/** A blob that a repo links. */
export interface RepoBlob {
  readonly digest: string;
  /** Bytes of the blob. Its file may be longer. */
  readonly size: number;
}

/** Undefined if the repo does not link the blob. */
export async function findBlob(db: ReadDb, repoUid: string, digest: string): Promise<RepoBlob | undefined> {
  const size = await findBlobSize(db, repoUid, digest);
  return size === undefined ? undefined : { digest, size };
}

/**
 * Calls `work` with the blob's file, which is valid until `work` ends.
 * @throws FAILED_PRECONDITION above the limit; NOT_FOUND if the blob's bytes are lost; UNAVAILABLE
 */
export async function withBlobFile<T>(
  blobs: BlobStore,
  { digest, size }: RepoBlob,
  maxBytes: number,
  work: (file: BlobFile) => Promise<T>,
): Promise<T> {
  if (size > maxBytes) throw tooLarge(digest, maxBytes);
  try {
    return await blobs.withFile(digest, size, (path) => work({ digest, path, size }));
  } catch (error) {
    throw error instanceof NoSuchBlob ? notFound("Blob", digest) : error;
  }
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
