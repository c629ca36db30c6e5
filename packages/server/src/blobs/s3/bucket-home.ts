/** The place of the blobs of one database in a bucket, which an object marks with the id of the database. */
import { text } from "node:stream/consumers";
import type { BlobHome } from "../blob-home.ts";
import { DIGEST_ALGORITHMS } from "../digest.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { describeS3Error, NoSuchObject, ObjectDiffers } from "./s3-errors.ts";

const ID_KEY = "blobs/id";

export function bucketHome(bucket: S3Bucket): BlobHome {
  const readId = async (): Promise<string | undefined> => {
    try {
      return (await text((await bucket.get(ID_KEY)).body)).trim();
    } catch (error) {
      if (error instanceof NoSuchObject) return undefined;
      throw unusable(bucket, error);
    }
  };
  return {
    name: bucket.name,
    readId,
    async hasBlobs() {
      for (const algorithm of DIGEST_ALGORITHMS)
        for await (const objects of bucket.list(`blobs/${algorithm}/`)) if (objects.length > 0) return true;
      return false;
    },
    async ensureId(id) {
      await bucket.create(ID_KEY, `${id}\n`).catch((error: unknown) => {
        if (!(error instanceof ObjectDiffers)) throw unusable(bucket, error);
      });
      return (await readId()) ?? id;
    },
  };
}

function unusable({ name }: S3Bucket, error: unknown): Error {
  return new Error(`cannot use ${name} for images: ${describeS3Error(error)}`, { cause: error });
}
