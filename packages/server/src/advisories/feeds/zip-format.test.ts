import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { crc32, deflateRawSync } from "node:zlib";
import yauzl from "yauzl";
import { centralHeader, localHeader, localHeaderSize, zipEnd } from "./zip-format.ts";

const TIME = "2026-03-04T05:06:08.000Z";

/**
 * Builds an archive whose files all have the same content.
 * @param before number of bytes before the first file, which are left out of `tail`
 */
function archive(names: readonly string[], text: string, before = 0): { tail: Buffer; size: number } {
  const packed = deflateRawSync(text);
  const parts: Buffer[] = [];
  const headers: Buffer[] = [];
  let offset = before;
  for (const name of names) {
    const entry = { name, time: TIME, size: Buffer.byteLength(text), crc: crc32(text), packedSize: packed.length };
    headers.push(centralHeader(entry, offset));
    parts.push(localHeader(entry), packed);
    offset += localHeaderSize(name) + packed.length;
  }
  const directory = Buffer.concat(headers);
  const tail = Buffer.concat([...parts, directory, zipEnd(names.length, offset, directory.length)]);
  return { tail, size: before + tail.length };
}

/** Reads zeros before the tail. */
class Sparse extends yauzl.RandomAccessReader {
  readonly #tail: Buffer;
  readonly #start: number;
  constructor(tail: Buffer, size: number) {
    super();
    this.#tail = tail;
    this.#start = size - tail.length;
  }
  override read(buffer: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    const missing = Math.max(0, this.#start - position);
    buffer.fill(0, offset, offset + missing);
    this.#tail.copy(buffer, offset + missing, position + missing - this.#start, position - this.#start + length);
    callback(null);
  }
  override _readStreamForRange(start: number, end: number) {
    return Readable.from([this.#tail.subarray(start - this.#start, end - this.#start)]) as never;
  }
}

/** @param isRead selects the files to read; the others get the empty string */
async function textsOf({ tail, size }: { tail: Buffer; size: number }, isRead: (name: string) => boolean = () => true) {
  const zip = await yauzl.fromRandomAccessReaderPromise(new Sparse(tail, size), size, { lazyEntries: true, validateEntrySizes: true });
  const texts = new Map<string, string>();
  for await (const entry of zip.eachEntry()) {
    assert.equal(entry.getLastModDate({ timezone: "UTC" }).toISOString(), TIME);
    const chunks: Buffer[] = [];
    if (isRead(entry.fileName)) for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    texts.set(entry.fileName, Buffer.concat(chunks).toString());
  }
  return texts;
}

describe("zip archives", () => {
  it("contain the files that were written to them", async () => {
    const text = "x".repeat(1000);
    assert.deepEqual(
      [...(await textsOf(archive(["a.json", "ü.json"], text)))],
      [
        ["a.json", text],
        ["ü.json", text],
      ],
    );
  });

  it("zip archives may have more than 65,535 entries", async () => {
    const names = Array.from({ length: 65_540 }, (_, i) => `${i}.json`);
    const texts = await textsOf(archive(names, "text"), (name) => name === names.at(-1));
    assert.deepEqual([...texts.keys()], names);
    assert.equal(texts.get("65539.json"), "text");
  });

  it("zip archives may be larger than 4 GiB", async () => {
    const texts = await textsOf(archive(["a.json", "b.json"], "text", 2 ** 32 - 20));
    assert.deepEqual(
      [...texts],
      [
        ["a.json", "text"],
        ["b.json", "text"],
      ],
    );
  });
});
