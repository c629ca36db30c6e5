import assert from "node:assert/strict";
import { test } from "node:test";
import { CollectedBytes } from "./collected-bytes.ts";

function collect(chunks: readonly Buffer[]): CollectedBytes {
  const body = new CollectedBytes();
  for (const chunk of chunks) body.add(chunk);
  return body;
}

test("the whole body has the bytes of all chunks in their order, whatever their sizes", () => {
  const sizes = [0, 1, 2, 1023, 1024, 1025, 4095, 4096, 4097, 20_000];
  for (const first of sizes) {
    for (const second of sizes) {
      let value = 0;
      const chunkOf = (size: number) => Buffer.alloc(size, ++value);
      const chunks = [first, second, second, 1, first, 1, 1, second].map(chunkOf);
      const body = collect(chunks);
      assert.deepEqual(body.whole(), Buffer.concat(chunks), `chunks of ${first} and ${second} bytes`);
      assert.equal(body.length, Buffer.concat(chunks).length);
    }
  }
});

test("a body without a chunk is empty", () => {
  assert.equal(new CollectedBytes().whole().length, 0);
});

test("a body of one chunk is not copied", () => {
  const chunk = Buffer.from("{}");
  assert.equal(collect([chunk]).whole(), chunk);
});

test("chunks do not change when later chunks follow them", () => {
  const chunks = Array.from({ length: 10 }, (_, i) => Buffer.from([i]));
  collect(chunks);
  assert.deepEqual(
    chunks.map(([byte]) => byte),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
});
