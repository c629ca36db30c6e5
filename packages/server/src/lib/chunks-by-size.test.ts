import assert from "node:assert/strict";
import { test } from "node:test";
import { chunksBySize, inChunks } from "./chunks-by-size.ts";

test("items are split into chunks of a size in order, and a larger item has a chunk of its own", () => {
  const chunks = (items: readonly number[], maxCount?: number) =>
    chunksBySize(items, { sizeOf: (item) => item, maxSize: 10, ...(maxCount !== undefined && { maxCount }) });
  assert.deepEqual(chunks([]), []);
  assert.deepEqual(chunks([4, 6, 1, 0, 10, 11, 3]), [[4, 6], [1, 0], [10], [11], [3]]);
  assert.deepEqual(chunks([1, 1, 1, 1, 1], 2), [[1, 1], [1, 1], [1]]);
});

test("items are split into chunks of a number in order, and the last chunk may have fewer", () => {
  assert.deepEqual(inChunks([], 2), []);
  assert.deepEqual(inChunks([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
  assert.deepEqual(inChunks([1, 2], 2), [[1, 2]]);
});
