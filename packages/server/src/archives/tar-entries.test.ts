import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { tarGzOf } from "../../test/harness/libraries/python-packages.ts";
import { never } from "../../test/harness/wait.ts";
import { decompress } from "./decompress.ts";
import { ArchiveError, ArchiveMeter } from "./limits.ts";
import { tarEntries } from "./tar-entries.ts";

const LIMITS = { maxEntries: 100, freeBytes: 10_000_000, maxRatio: 10, paths: { backslash: "separator" } } as const;
const archive = await tarGzOf(["a", "b", "c"].map((name) => ({ name, content: name.repeat(100_000) })));

/** Counts reads that begin after `isClosed` was set. */
function createSource(bytes: Buffer, failure?: Error) {
  const state = { isClosed: false, readsAfterClose: 0 };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 100) {
      await new Promise((resolve) => setImmediate(resolve));
      if (state.isClosed) state.readsAfterClose++;
      yield bytes.subarray(at, at + 100);
    }
    if (failure !== undefined) throw failure;
  }
  return { state, chunks: chunks() };
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string[]> {
  const meter = new ArchiveMeter(LIMITS, archive.length);
  const read: string[] = [];
  for await (const { header, content } of tarEntries(decompress(chunks, "gzip", meter), meter))
    read.push(`${header.name} ${(await buffer(content)).length}`);
  return read;
}

test("every entry of a compressed archive is read", async () => {
  assert.deepEqual(await readAll(createSource(archive).chunks), ["a 100000", "b 100000", "c 100000"]);
});

test("damaged data is an ArchiveError", async () => {
  await assert.rejects(readAll(createSource(archive.subarray(0, -50)).chunks), ArchiveError);
  await assert.rejects(readAll(createSource(gzipSync("not a tar archive")).chunks), ArchiveError);
});

test("a failure of the source is thrown as it is", async () => {
  const failure = new Error("the disk is gone");
  await assert.rejects(readAll(createSource(archive.subarray(0, -50), failure).chunks), failure);
});

test("the source is not read after the reader has stopped, failed or not", async () => {
  const broken = createSource(Buffer.concat([archive.subarray(0, 300), Buffer.alloc(5000, 1)]));
  await assert.rejects(readAll(broken.chunks), ArchiveError);
  const unwanted = createSource(archive);
  const meter = new ArchiveMeter(LIMITS, archive.length);
  for await (const _ of tarEntries(decompress(unwanted.chunks, "gzip", meter), meter)) break;
  for (const { state } of [broken, unwanted]) state.isClosed = true;
  await never(() => assert.deepEqual([broken.state.readsAfterClose, unwanted.state.readsAfterClose], [0, 0]), 50);
});
