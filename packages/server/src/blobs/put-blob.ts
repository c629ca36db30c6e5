/** Stores a whole blob whose digest is known. */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import type { BlobStore } from "./store.ts";

/**
 * The blob is complete and durable when this resolves. Otherwise nothing stays behind.
 * @param name of the upload, where an interrupted attempt of the same name may have left one
 * @returns the number of bytes
 * @throws the error of the bytes; DigestMismatch and UNAVAILABLE as `BlobStore.commit`
 */
export async function putBlob(blobs: BlobStore, digest: string, bytes: Readable, name?: string): Promise<number> {
  const upload = name ?? randomUUID();
  if (name !== undefined) await blobs.abort(upload);
  try {
    const received = await blobs.append(upload, bytes, 0, "whole");
    // A stream that failed ends an upload as well.
    if (bytes.errored !== null && bytes.errored !== undefined) throw bytes.errored;
    await blobs.commit(upload, digest);
    return received;
  } finally {
    await blobs.abort(upload);
  }
}
