/** The place into which a restore writes blobs: the data folder, or the bucket of HOLT_BLOBS. No database records them yet. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { BlobSettings } from "../blobs/blob-settings.ts";
import { parseDigest } from "../blobs/digest.ts";
import { openBlobFolder } from "../blobs/open-blobs.ts";
import { putBlob } from "../blobs/put-blob.ts";
import { type BlobStore, DigestMismatch } from "../blobs/store.ts";
import type { Log } from "../lib/log.ts";
import type { ListedBlob } from "./snapshot.ts";

export interface RestoredBlobs extends AsyncDisposable {
  /** For messages. */
  readonly name: string;
  isEmpty(): Promise<boolean>;
  has(blob: ListedBlob): Promise<boolean>;
  /** The blob is durable when this resolves. @throws DigestMismatch, and stores nothing */
  write(blob: ListedBlob, content: Readable): Promise<void>;
}

export async function openRestoredBlobs(settings: BlobSettings, log: Log): Promise<RestoredBlobs> {
  const { blobs: place, dataDir, s3Endpoint: endpoint, s3Region: region, s3PathStyle: pathStyle } = settings;
  if (place === "folder") return restoreIntoFolder(dataDir, log);
  const { S3Bucket } = await import("../blobs/s3/s3-bucket.ts");
  return restoreIntoBucket(new S3Bucket({ location: { ...place, endpoint, region, pathStyle }, log }));
}

function restoreIntoFolder(dataDir: string, log: Log): RestoredBlobs {
  let opened: BlobStore | undefined;
  // Creates its folders, which a refused restore must not leave.
  const open = () => {
    opened ??= openBlobFolder(dataDir, log);
    return opened;
  };
  return {
    name: dataDir,
    // The data folder as a whole is checked.
    isEmpty: async () => true,
    has: async ({ digest, size }) => (await open().stat(digest))?.size === size,
    async write({ digest }, content) {
      await putBlob(open(), digest, content, `restore-${digest.replace(":", "-").slice(0, 100)}`);
    },
    [Symbol.asyncDispose]: async () => opened?.[Symbol.asyncDispose](),
  };
}

type Bucket = import("../blobs/s3/s3-bucket.ts").S3Bucket;

async function restoreIntoBucket(bucket: Bucket): Promise<RestoredBlobs> {
  const [{ blobKey }, { writeObject }] = await Promise.all([import("../blobs/s3/s3-commit.ts"), import("../blobs/s3/write-object.ts")]);
  let present: Promise<ReadonlyMap<string, number>> | undefined;
  const keyOf = (digest: string): string => {
    const parsed = parseDigest(digest);
    if (parsed === undefined) throw new DigestMismatch(`${digest} is not a digest`);
    return blobKey(parsed);
  };
  return {
    name: bucket.name,
    async isEmpty() {
      for (const folder of ["blobs/", "uploads/", "imports/"])
        for await (const page of bucket.list(folder)) if (page.length > 0) return false;
      return true;
    },
    async has({ digest, size }) {
      present ??= sizesIn(bucket);
      return (await present).get(keyOf(digest)) === size;
    },
    write: (blob, content) => writeObject(bucket, keyOf(blob.digest), checked(blob, content)),
    [Symbol.asyncDispose]: async () => bucket[Symbol.dispose](),
  };
}

async function sizesIn(bucket: Bucket): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for await (const page of bucket.list("blobs/")) for (const { key, size } of page) sizes.set(key, size);
  return sizes;
}

/** Throws after the last byte unless the digest is right, so that the object does not appear. */
async function* checked({ digest }: ListedBlob, content: Readable): AsyncIterable<Buffer> {
  const algorithm = parseDigest(digest)?.algorithm ?? "sha256";
  const hash = createHash(algorithm);
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk);
    yield chunk;
  }
  const actual = `${algorithm}:${hash.digest("hex")}`;
  if (actual !== digest) throw new DigestMismatch(`the bytes have the digest ${actual}`);
}
