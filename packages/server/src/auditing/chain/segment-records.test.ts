import assert from "node:assert/strict";
import { test } from "node:test";
import { BUCKETS, bucketOf, entriesWithTerm, SegmentBuilder } from "./segment-records.ts";

test("a segment finds the entries of a term by block, with the greatest terms, blocks and indexes", () => {
  const terms = [0, 1, 2 ** 24, 2 ** 24 - 1, 2 ** 40 - 1, 2 ** 40, 2 ** 48 - 1];
  const last = { block: 2 ** 48 - 1, index: 2 ** 24 - 1 };
  const segment = new SegmentBuilder();
  for (const term of terms) for (const index of [0, 7]) segment.add(term, 5, index);
  for (const term of terms) segment.add(term, last.block, last.index);
  const buckets = segment.records();
  assert.equal(buckets.length, BUCKETS);
  for (const term of terms)
    assert.deepEqual(entriesWithTerm(buckets[bucketOf(term)]!, term), [
      { block: 5, entries: [0, 7] },
      { block: last.block, entries: [last.index] },
    ]);
  assert.deepEqual(entriesWithTerm(buckets[0]!, 2), []);
});
