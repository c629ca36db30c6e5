import assert from "node:assert/strict";
import { test } from "node:test";
import { BUCKETS, bucketsOf, entriesWithTerm, MERGED_BUCKETS, mergeBucket, SegmentBuilder } from "./segment-records.ts";

test("a segment finds the entries of a term by block, with the greatest terms, blocks and indexes", () => {
  const terms = [0, 1, 2 ** 24, 2 ** 24 - 1, 2 ** 40 - 1, 2 ** 40, 2 ** 48 - 1];
  const last = { block: 2 ** 48 - 1, index: 2 ** 24 - 1 };
  const segment = new SegmentBuilder();
  for (const term of terms) for (const index of [0, 7]) segment.add(term, 5, index);
  for (const term of terms) segment.add(term, last.block, last.index);
  const buckets = segment.records();
  assert.equal(buckets.length, BUCKETS);
  for (const term of terms)
    assert.deepEqual(entriesWithTerm(buckets[bucketsOf(term)[0]]!, term), [
      { block: 5, entries: [0, 7] },
      { block: last.block, entries: [last.index] },
    ]);
  assert.deepEqual(entriesWithTerm(buckets[0]!, 2), []);
});

test("merged segments have every record of their parts, in the order of the blocks", () => {
  const terms = [0, 2 ** 36 - 1, 2 ** 36, 2 ** 40 - 1, 2 ** 40, 17 * 2 ** 36, 2 ** 48 - 1];
  const segments = [1, 2, 3].map((block) => {
    const segment = new SegmentBuilder();
    for (const term of terms) for (const index of [block, 256]) segment.add(term, block, index);
    return segment.records().map((records, bucket) => ({ bucket, segment: block, first_block: block, records }));
  });
  const merged = Array.from({ length: BUCKETS }, (_, bucket) =>
    mergeBucket(
      bucket,
      segments.map((buckets) => buckets[bucket]!),
    ),
  ).flat();
  assert.equal(new Set(merged.map(({ bucket }) => bucket)).size, MERGED_BUCKETS);
  assert.equal(merged.length, MERGED_BUCKETS);
  for (const term of terms) {
    const row = merged.find(({ bucket }) => bucket === bucketsOf(term)[1]);
    assert.deepEqual([row?.segment, row?.first_block], [3, 1]);
    assert.deepEqual(
      entriesWithTerm(row!.records, term),
      [1, 2, 3].map((block) => ({ block, entries: [block, 256] })),
    );
  }
});

test("a merged segment stays small where many entries have the same term", () => {
  const [frequent, rare] = [5, 6];
  const segments = [1, 2, 3, 4, 5].map((block) => {
    const segment = new SegmentBuilder();
    const entries = block === 4 ? 8000 : 2000;
    for (let index = 0; index < entries; index++) segment.add(frequent, block, index);
    segment.add(rare, block, entries);
    return { bucket: 0, segment: block, first_block: block, records: segment.records()[0]! };
  });
  const rows = mergeBucket(0, segments).filter(({ bucket }) => bucket === bucketsOf(frequent)[1]);
  assert.deepEqual(
    rows.map(({ first_block, segment }) => [first_block, segment]),
    [
      [1, 2],
      [3, 3],
      [4, 4],
      [5, 5],
    ],
  );
  for (const term of [frequent, rare])
    assert.deepEqual(
      rows.flatMap(({ records }) => entriesWithTerm(records, term)),
      segments.flatMap(({ records }) => entriesWithTerm(records, term)),
    );
});
