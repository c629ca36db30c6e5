/** Streams an object, and continues after a lost connection where it was cut. */

import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { unavailable } from "../../lib/errors.ts";
import type { ByteRange } from "../store.ts";
import type { S3Bucket } from "./s3-bucket.ts";

/** Failures in a row, without a byte between them. */
const MAX_FAILURES = 5;
const FIRST_PAUSE_MS = 50;

/** The connection that the bytes come from. */
interface Source {
  body: Readable | undefined;
  isClosed: boolean;
}

/** @throws NoSuchObject or UNAVAILABLE before the first byte; the stream fails with UNAVAILABLE later */
export async function readObject(bucket: Pick<S3Bucket, "get">, key: string, range?: ByteRange): Promise<Readable> {
  const { body, size } = await bucket.get(key, range);
  const source: Source = { body, isClosed: false };
  const wanted = { start: range?.start ?? 0, end: range?.end ?? size - 1 };
  const stream = Readable.from(resuming(bucket, key, source, wanted), { objectMode: false });
  const { _destroy: destroy } = stream;
  // The generator cannot close the connection before the first byte is read, nor while it waits for the next one.
  stream._destroy = (error, done) => {
    source.isClosed = true;
    source.body?.destroy();
    destroy.call(stream, error, done);
  };
  return stream;
}

async function* resuming(bucket: Pick<S3Bucket, "get">, key: string, source: Source, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  let at = start;
  let failures = 0;
  try {
    while (at <= end) {
      try {
        source.body ??= (await bucket.get(key, { start: at, end })).body;
        if (source.isClosed) return;
        for await (const chunk of source.body as AsyncIterable<Buffer>) {
          failures = 0;
          at += chunk.length;
          yield chunk;
        }
        if (at <= end) throw new Error(`the object ends after ${at} bytes`);
      } catch (error) {
        if (source.isClosed) return;
        if (++failures === MAX_FAILURES) throw unavailable("the bucket of the blobs cannot be read", { cause: error });
        source.body?.destroy();
        source.body = undefined;
        await sleep(FIRST_PAUSE_MS * 2 ** failures);
      }
    }
  } finally {
    source.body?.destroy();
  }
}
