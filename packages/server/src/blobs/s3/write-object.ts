/** Streams bytes of unknown length into an object. The object appears once all bytes are there. */
import { PartBuffer } from "./part-buffer.ts";
import type { S3Bucket, StoredPart } from "./s3-bucket.ts";

/** S3 takes no more parts. */
const MAX_PARTS = 10_000;

/** @param content if it throws, nothing is stored */
export async function writeObject(bucket: S3Bucket, key: string, content: AsyncIterable<Buffer>): Promise<void> {
  const buffer = new PartBuffer();
  const parts: StoredPart[] = [];
  let id: string | undefined;
  const flush = async (): Promise<void> => {
    if (parts.length === MAX_PARTS) throw new Error(`${bucket.name}${key} needs more than ${MAX_PARTS} parts`);
    id ??= await bucket.begin(key, true);
    parts.push(await bucket.putPart(key, id, parts.length + 1, buffer.bytes()));
    buffer.clear();
  };
  try {
    for await (const chunk of content) {
      for (let rest = chunk; rest.length > 0; ) {
        if (buffer.isFull) await flush();
        rest = rest.subarray(buffer.add(rest));
      }
    }
    if (id === undefined) return void (await bucket.put(key, buffer.bytes()));
    await flush();
    await bucket.complete(key, id, parts);
  } catch (error) {
    if (id !== undefined) await bucket.abort(key, id).catch(() => {});
    throw error;
  }
}
