/** Streams an object, and continues after a lost connection where it was cut. */

import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { unavailable } from "../../lib/errors.ts";
import type { ByteRange } from "../store.ts";
import type { ObjectBody, S3Bucket } from "./s3-bucket.ts";

/** Failures in a row, without a byte between them. */
const MAX_FAILURES = 5;
const FIRST_PAUSE_MS = 50;

/** @throws NoSuchObject or UNAVAILABLE before the first byte; the stream fails with UNAVAILABLE later */
export async function readObject(bucket: Pick<S3Bucket, "get">, key: string, range?: ByteRange): Promise<Readable> {
  const first = await bucket.get(key, range);
  const start = range?.start ?? 0;
  return Readable.from(resuming(bucket, key, first, { start, end: range?.end ?? first.size - 1 }), { objectMode: false });
}

async function* resuming(bucket: Pick<S3Bucket, "get">, key: string, first: ObjectBody, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  let at = start;
  let failures = 0;
  let body: Readable | undefined = first.body;
  try {
    while (at <= end) {
      try {
        body ??= (await bucket.get(key, { start: at, end })).body;
        for await (const chunk of body as AsyncIterable<Buffer>) {
          failures = 0;
          at += chunk.length;
          yield chunk;
        }
        if (at <= end) throw new Error(`the object ends after ${at} bytes`);
      } catch (error) {
        if (++failures === MAX_FAILURES) throw unavailable("the bucket of the blobs cannot be read", { cause: error });
        body?.destroy();
        body = undefined;
        await sleep(FIRST_PAUSE_MS * 2 ** failures);
      }
    }
  } finally {
    body?.destroy();
  }
}
