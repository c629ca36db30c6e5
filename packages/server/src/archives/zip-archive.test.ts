import assert from "node:assert/strict";
import { test } from "node:test";
import { zipOf } from "../../test/harness/libraries/python-packages.ts";
import { ArchiveError } from "./limits.ts";
import { RandomAccessBytes } from "./random-access-bytes.ts";
import { ZipArchive, type ZipEntry } from "./zip-archive.ts";

const LIMITS = { maxEntries: 100, freeBytes: 10_000_000, maxRatio: 10, paths: { backslash: "separator" } } as const;
const large = Buffer.alloc(700_000, "0123456789abcdef");
const archive = zipOf([
  { name: "small.txt", content: "hello" },
  { name: "large.txt", content: large },
]);

function bytesOf(buffer: Buffer): RandomAccessBytes {
  return new RandomAccessBytes(async (position, length) => buffer.subarray(position, position + length), buffer.length);
}

async function entriesOf(zip: ZipArchive): Promise<ZipEntry[]> {
  const entries: ZipEntry[] = [];
  for await (const entry of zip.entries()) entries.push(entry);
  return entries;
}

test("entries are read whole and as streams", async () => {
  const zip = await ZipArchive.open(bytesOf(archive), LIMITS);
  const entries = await entriesOf(zip);
  assert.deepEqual(
    entries.map(({ path, expandedSize }) => [path, expandedSize]),
    [
      ["small.txt", 5],
      ["large.txt", 700_000],
    ],
  );
  for (const [index, content] of [Buffer.from("hello"), large].entries()) {
    const entry = entries[index] as ZipEntry;
    assert.deepEqual(await zip.read(entry, 1_000_000), content);
    const chunks: Uint8Array[] = [];
    for await (const chunk of zip.stream(entry)) chunks.push(chunk);
    assert.deepEqual(Buffer.concat(chunks), content);
  }
  assert.ok(zip.endsWithDirectory());
});

test("content that differs from its checksum is refused", async () => {
  const damaged = Buffer.from(archive);
  const zip = await ZipArchive.open(bytesOf(damaged), LIMITS);
  const [entry] = await entriesOf(zip);
  const { start } = await zip.locate(entry as ZipEntry);
  damaged[start + 2] = (damaged[start + 2] ?? 0) ^ 0xff;
  const again = await ZipArchive.open(bytesOf(damaged), LIMITS);
  await assert.rejects(again.read((await entriesOf(again))[0] as ZipEntry, 1000), ArchiveError);
});

test("bytes that are not a zip archive are an ArchiveError, and a failure of the source is thrown as it is", async () => {
  await assert.rejects(ZipArchive.open(bytesOf(Buffer.from("no archive")), LIMITS), /not a valid zip archive/);
  const failure = new Error("the disk is gone");
  await assert.rejects(ZipArchive.open(new RandomAccessBytes(() => Promise.reject(failure), 1000), LIMITS), failure);
});
