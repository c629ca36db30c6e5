/** Copies an object within its bucket. The bytes do not pass this server. */
import { CopyObjectCommand, UploadPartCopyCommand } from "@aws-sdk/client-s3";
import type { S3Bucket, StoredPart } from "./s3-bucket.ts";
import { required } from "./s3-errors.ts";
import type { S3Requests } from "./s3-requests.ts";

export interface CopiedObject {
  readonly key: string;
  /** Empty for any. */
  readonly etag: string;
  readonly size: number;
}

/** The new object. */
interface Target {
  readonly key: string;
  readonly multipart: Pick<S3Bucket, "begin" | "complete" | "abort">;
}

/** S3 copies at most 5 GiB in one request. Smaller parts are copied concurrently. */
const PART_BYTES = 512 * 1024 * 1024;
const MAX_PARTS_AT_ONCE = 8;

/** @throws NoSuchObject; ObjectDiffers if the source has another ETag */
export async function copyObject(requests: S3Requests, source: CopiedObject, target: Target): Promise<void> {
  if (source.size > PART_BYTES) return copyInParts(requests, source, target);
  const command = new CopyObjectCommand({ ...requests.at(target.key), ...copySource(requests, source) });
  await requests.do("copy an object", async (client) => required((await client.send(command)).CopyObjectResult?.ETag));
}

function copySource(requests: S3Requests, { key, etag }: CopiedObject) {
  const { Bucket, Key } = requests.at(key);
  return { CopySource: encodeURI(`${Bucket}/${Key}`), ...(etag !== "" && { CopySourceIfMatch: etag }) };
}

async function copyInParts(requests: S3Requests, source: CopiedObject, { key, multipart }: Target): Promise<void> {
  const id = await multipart.begin(key, false);
  try {
    const parts: StoredPart[] = [];
    const indexes = Array.from({ length: Math.ceil(source.size / PART_BYTES) }, (_, index) => index);
    const copyNext = async () => {
      for (let index = indexes.shift(); index !== undefined; index = indexes.shift())
        parts[index] = await copyPart(requests, source, { key, id, index });
    };
    await Promise.all(Array.from({ length: MAX_PARTS_AT_ONCE }, copyNext));
    await multipart.complete(key, id, parts);
  } catch (error) {
    await multipart.abort(key, id).catch(() => {});
    throw error;
  }
}

interface CopiedPart {
  readonly key: string;
  /** The id of the multipart upload. */
  readonly id: string;
  /** From 0. */
  readonly index: number;
}

async function copyPart(requests: S3Requests, source: CopiedObject, { key, id, index }: CopiedPart): Promise<StoredPart> {
  const start = index * PART_BYTES;
  const CopySourceRange = `bytes=${start}-${Math.min(start + PART_BYTES, source.size) - 1}`;
  const command = new UploadPartCopyCommand({
    ...requests.at(key),
    ...copySource(requests, source),
    UploadId: id,
    PartNumber: index + 1,
    CopySourceRange,
  });
  return requests.do("copy a part", async (client) => {
    const { CopyPartResult } = await client.send(command);
    return { etag: required(CopyPartResult?.ETag), checksum: CopyPartResult?.ChecksumCRC32 ?? "" };
  });
}
