/** Stores staged files in a bucket: each chunk is an object `imports/<name>/<offset>`, so that servers need not append. */
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { assertStagedName, isStagedName, type StagedFiles, type StagedWriter } from "../staged-files.ts";
import { PartBuffer } from "./part-buffer.ts";
import { readObject } from "./read-object.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { ObjectDiffers } from "./s3-errors.ts";

const FOLDER = "imports/";
const OFFSET_DIGITS = 15;

interface Chunk {
  readonly key: string;
  readonly start: number;
  readonly size: number;
}

export function createS3StagedFiles(bucket: S3Bucket): StagedFiles {
  async function chunksOf(name: string): Promise<Chunk[]> {
    assertStagedName(name);
    const chunks: Chunk[] = [];
    for await (const objects of bucket.list(`${FOLDER}${name}/`))
      for (const { key, size } of objects) chunks.push({ key, start: Number(key.slice(-OFFSET_DIGITS)), size });
    return chunks;
  }
  return {
    async withFile(name, size, work) {
      const folder = await mkdtemp(join(tmpdir(), "holt-import-"));
      try {
        const path = join(folder, name);
        const chunks = await chunksOf(name);
        await pipeline(Readable.from(bytesOf(bucket, chunks, size)), createWriteStream(path, { mode: 0o600 }));
        return await work(path);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    async write(name, offset, bytes) {
      await bucket.put(keyOf(name, offset), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    },
    create: async (name) => createWriter(bucket, name),
    async cut(name, size) {
      const chunks = await chunksOf(name);
      for (const { key, start } of chunks) if (start >= size && start > 0) await bucket.remove(key);
      return lengthOf(chunks) >= size;
    },
    exists: async (name) => (await chunksOf(name)).length > 0,
    async remove(name) {
      for (const { key } of await chunksOf(name)) await bucket.remove(key);
    },
    async *list() {
      let last = "";
      for await (const objects of bucket.list(FOLDER)) {
        const names = new Set(objects.map(({ key }) => key.slice(FOLDER.length).split("/")[0] ?? ""));
        names.delete(last);
        last = [...names].at(-1) ?? last;
        const staged = [...names].filter(isStagedName);
        if (staged.length > 0) yield staged;
      }
    },
  };
}

function keyOf(name: string, offset: number): string {
  assertStagedName(name);
  return `${FOLDER}${name}/${String(offset).padStart(OFFSET_DIGITS, "0")}`;
}

/** Bytes from the start of the file to the first gap. */
function lengthOf(chunks: readonly Chunk[]): number {
  let end = 0;
  for (const { start, size } of chunks) if (start <= end) end = Math.max(end, start + size);
  return end;
}

async function* bytesOf(bucket: S3Bucket, chunks: readonly Chunk[], size: number): AsyncGenerator<Buffer> {
  let at = 0;
  for (const [index, { key, start, size: length }] of chunks.entries()) {
    // As in a file, a later chunk overwrites the end of an earlier one.
    const end = Math.min(start + length, chunks[index + 1]?.start ?? Number.POSITIVE_INFINITY, size);
    if (start !== at || end <= start) continue;
    yield* (await readObject(bucket, key, { start: 0, end: end - start - 1 })) as AsyncIterable<Buffer>;
    at = end;
  }
}

/** Only one server writes to the file, so that its chunks need not be durable before `sync`. */
async function createWriter(bucket: S3Bucket, name: string): Promise<StagedWriter> {
  const buffer = new PartBuffer();
  let offset = 0;
  const flush = async () => {
    const bytes = buffer.bytes();
    if (bytes.length === 0) return;
    if (offset > 0) await bucket.put(keyOf(name, offset), bytes);
    else
      await bucket.create(keyOf(name, 0), bytes).catch((error: unknown) => {
        throw error instanceof ObjectDiffers ? new Error(`the staged file ${name} exists`) : error;
      });
    offset += bytes.length;
    buffer.clear();
  };
  return {
    async append(bytes) {
      let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      while (rest.length > 0) {
        rest = rest.subarray(buffer.add(rest));
        if (buffer.isFull) await flush();
      }
    },
    sync: flush,
    async [Symbol.asyncDispose]() {},
  };
}
