/** Finds uploads that nobody continues: rows of the database, unfinished copies, and objects without a row. */
import { type Digest, parseDigest } from "../digest.ts";
import { isUploadName } from "../uploads.ts";
import type { UploadPlace } from "./s3-append.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { blobKey } from "./s3-commit.ts";
import { findStaleUploads, findUpload } from "./upload-rows.ts";

/** A copy within the bucket takes far less. */
const MAX_COPY_MS = 3_600_000;
const COPY_PREFIX = "copy-";

/** @param isBusy whether this server works on the upload */
export async function* staleUploads(
  { store, bucket }: UploadPlace,
  before: Date,
  isBusy: (upload: string) => boolean,
): AsyncIterable<string> {
  const stale = new Set(await findStaleUploads(store.reader, before));
  for (const upload of stale) if (!isBusy(upload)) yield upload;
  // A crashed server may have left the copy of a large blob unfinished.
  for (const { key, time } of await bucket.listMultiparts("blobs/")) if (time < before) yield `${COPY_PREFIX}${key.slice("blobs/".length)}`;
  // A frozen server may have stored an object after its upload was deleted.
  for await (const objects of bucket.list("uploads/")) {
    for (const { key, time } of objects) {
      const upload = key.split("/")[1] ?? "";
      if (time >= before || stale.has(upload) || isBusy(upload) || !isUploadName(upload)) continue;
      stale.add(upload);
      if ((await findUpload(store.reader, upload)) === undefined) yield upload;
    }
  }
}

/** The digest in the name that `staleUploads` gives to an unfinished copy. */
export function copiedDigest(upload: string): Digest | undefined {
  return upload.startsWith(COPY_PREFIX) ? parseDigest(upload.slice(COPY_PREFIX.length).replace("/", ":")) : undefined;
}

/** Aborts unfinished copies of a blob. */
export function abortCopies(bucket: S3Bucket, digest: Digest): Promise<void> {
  return bucket.abortAll(blobKey(digest), { before: new Date(Date.now() - MAX_COPY_MS) });
}
