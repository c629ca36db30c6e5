/** Turns an upload in a bucket into a blob: completes its parts, checks the digest, and copies the object within the bucket. */
import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { hashBytes } from "../../lib/hash-bytes.ts";
import type { Digest } from "../digest.ts";
import { DigestMismatch, NoSuchUpload } from "../store.ts";
import { readObject } from "./read-object.ts";
import { dataKey, type S3Append, type UploadPlace } from "./s3-append.ts";
import { NoSuchMultipart, NoSuchObject } from "./s3-errors.ts";
import { countParts, findParts, findUpload, type HeldUpload, recordProgress, type UploadRow } from "./upload-rows.ts";

export function blobKey({ algorithm, hex }: Digest): string {
  return `blobs/${algorithm}/${hex}`;
}

interface Source {
  readonly key: string;
  readonly size: number;
  /** Empty if it is not known. */
  readonly etag: string;
}

/** Stores an upload that is only in memory, in one request. @throws DigestMismatch */
export async function commitSmall({ bucket }: UploadPlace, append: S3Append, wanted: Digest): Promise<{ size: number }> {
  const bytes = append.rest();
  const { algorithm } = wanted;
  const hash = algorithm === "sha256" && append.hash !== undefined ? append.hash.copy() : createHash(algorithm).update(bytes);
  assertDigest(hash.digest("hex"), wanted);
  await bucket.put(blobKey(wanted), bytes);
  return { size: bytes.length };
}

/**
 * @param append the append of this server to an upload that no other server continues
 * @throws DigestMismatch; NoSuchUpload if its parts are gone
 */
export async function commitHeld(place: UploadPlace, held: HeldUpload, wanted: Digest, append?: S3Append): Promise<{ size: number }> {
  const { upload } = held.row;
  const row = append === undefined ? held.row : { ...held.row, size: append.size, sha256: append.hash?.copy().digest("hex") ?? null };
  const known = wanted.algorithm === "sha256" ? row.sha256 : null;
  if (known !== null) assertDigest(known, wanted);
  const source = await ensureObject(place, { ...held, row }, append);
  if (known === null) assertDigest(await digestOf(place, source, wanted), wanted);
  if (source === undefined) await place.bucket.put(blobKey(wanted), "");
  else await place.bucket.copy(source, blobKey(wanted));
  await recordProgress(place.store, { upload, holder: held.holder }, { is_committed: 1 });
  return { size: row.size };
}

/** One object with all bytes of the upload; undefined if there are none. */
async function ensureObject(place: UploadPlace, held: HeldUpload, append: S3Append | undefined): Promise<Source | undefined> {
  const { row } = held;
  if (row.multipart === null) return row.tail === null ? undefined : { key: row.tail, size: row.size, etag: "" };
  const key = dataKey(row.upload);
  const etag = row.object_etag ?? (await complete(place, held, row.multipart, append));
  return { key, size: row.size, etag };
}

async function complete(place: UploadPlace, held: HeldUpload, id: string, append: S3Append | undefined): Promise<string> {
  const { store, bucket } = place;
  const { row, holder } = held;
  const { upload } = row;
  if (row.is_committed === 0) await endParts(place, held, id, append);
  const etag = await bucket.complete(dataKey(upload), id, await findParts(store.reader, upload)).catch((error: unknown) => {
    // An earlier commit may have completed it without learning of that.
    if (!(error instanceof NoSuchMultipart)) throw error;
    return etagOf(place, row);
  });
  await recordProgress(store, { upload, holder }, { object_etag: etag });
  return etag;
}

/** Stores the last part. More bytes after it would follow a short part, or an object that S3 has made of the parts. */
async function endParts({ store, bucket }: UploadPlace, { row, holder }: HeldUpload, id: string, append: S3Append | undefined) {
  const { upload, size, tail, tail_size } = row;
  const rest = append?.rest() ?? (tail === null || tail_size === 0 ? Buffer.alloc(0) : await buffer(await readObject(bucket, tail)));
  const number = (await countParts(store.reader, upload)) + 1;
  const part = rest.length === 0 ? undefined : { part: number, ...(await bucket.putPart(dataKey(upload), id, number, rest)) };
  await recordProgress(store, { upload, holder }, { tail_size: 0, size, is_committed: 1 }, part);
}

async function etagOf({ bucket }: UploadPlace, { upload, size }: UploadRow): Promise<string> {
  const found = await bucket.head(dataKey(upload)).catch((error: unknown) => {
    if (error instanceof NoSuchObject) return undefined;
    throw error;
  });
  if (found?.size !== size) throw new NoSuchUpload(upload);
  return found.etag;
}

async function digestOf({ bucket }: UploadPlace, source: Source | undefined, { algorithm }: Digest): Promise<string> {
  const bytes = source === undefined ? [] : await readObject(bucket, source.key, { start: 0, end: source.size - 1 });
  return hashBytes(bytes, algorithm);
}

function assertDigest(actual: string, { algorithm, hex }: Digest): void {
  if (actual !== hex) throw new DigestMismatch(`the bytes have the digest ${algorithm}:${actual}`);
}

/** Deletes everything that an upload has in the bucket, and its row last, so that a crash leaves nothing unknown. */
export async function discard({ store, bucket }: UploadPlace, upload: string, isKnown: boolean): Promise<void> {
  const row = await findUpload(store.reader, upload);
  if (row !== undefined || !isKnown) {
    const isComplete = row !== undefined && row.object_etag !== null;
    const hasMultipart = row === undefined || row.multipart !== null || !isKnown;
    if (hasMultipart && !isComplete) await bucket.abortAll(dataKey(upload));
    if (isKnown && row !== undefined) {
      if (isComplete) await bucket.remove(dataKey(upload));
      if (row.tail !== null) await bucket.remove(row.tail);
    } else {
      for await (const objects of bucket.list(`uploads/${upload}/`)) for (const { key } of objects) await bucket.remove(key);
    }
  }
  await store.transaction((db) => db.deleteFrom("blob_upload").where("upload", "=", upload).execute());
}
