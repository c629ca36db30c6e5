/** Finds entries by the term of their target or request: in the segments of the index, and in the blocks after the last one. */
import { sql } from "kysely";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import { numberBytes } from "../chain/block.ts";
import { bucketsOf, entriesWithTerm } from "../chain/segment-records.ts";
import type { SizedBlock } from "./blocks.ts";
import type { BlockRange, FoundPostings, Posting, Search } from "./postings.ts";
import { type IndexedTerm, scanBlocks, scanGiven } from "./tail-scan.ts";

/** One statement reads those of fifty million entries. */
const MAX_SEGMENTS_PER_READ = 256;
/** A bucket has about 2 KiB. That of a frequent term may have 240 KiB, and few such segments have enough entries. */
const MAX_BYTES_PER_READ = 512 * 1024;
/** One search: the segments of 260 million entries. */
const MAX_SEGMENTS_PER_SEARCH = 1024;
const BYTES_PER_COST = 2048;

/** @param limit blocks that are enough */
export async function findIndexed(search: Search, wanted: IndexedTerm, range: BlockRange, limit: number): Promise<FoundPostings> {
  const { indexed } = search;
  const parts = await Promise.all([
    searchSegments(search, wanted, { ...range, high: Math.min(range.high, indexed) }, limit),
    scanBlocks(search, wanted, { ...range, low: Math.max(range.low, indexed + 1) }),
  ]);
  const [first, second] = range.isDescending ? [parts[1], parts[0]] : parts;
  const cost = first.cost + second.cost;
  if (first.horizon !== undefined) return { ...first, cost };
  return { postings: [...first.postings, ...second.postings], horizon: second.horizon, cost };
}

interface SegmentValues {
  readonly bucket: number;
  readonly merged: number;
  readonly term: Uint8Array;
  readonly low: number;
  readonly high: number;
}

interface SegmentRow {
  readonly segment: number;
  readonly first_block: number;
  /** Bytes of its bucket. */
  readonly size: number;
  /** Bytes of the buckets up to this one. */
  readonly total: number;
  /** Null if they do not have the term. */
  readonly records: Uint8Array | null;
}

/** The segments that have blocks of the range, in its order. Those of a term are few, merged or not yet, so they are cheap to sort. */
const segmentsWithTerm = prepareEach(
  (order: "asc" | "desc") => (db, param: Placeholders<SegmentValues>) => {
    const { unindexed, containsBytes } = db.dialect;
    const direction = sql.raw(order);
    const first = sql`select bucket, segment, first_block, length(records) as size from audit_segment
      where bucket in (${param("bucket")}, ${param("merged")}) and segment >= ${param("low")} and ${unindexed("first_block")} <= ${param("high")}
      order by segment ${direction} limit ${sql.lit(MAX_SEGMENTS_PER_READ)}`;
    const summed = sql`select f.*, sum(size) over (order by segment ${direction}) as total from (${first}) as f`;
    const records = sql`select g.records from audit_segment as g
      where g.bucket = s.bucket and g.segment = s.segment and ${containsBytes(sql`g.records`, param("term"))}`;
    return sql<SegmentRow>`select s.segment, s.first_block, s.size, s.total, (${records}) as records from (${summed}) as s
      where s.total - s.size < ${sql.lit(MAX_BYTES_PER_READ)} order by s.segment ${direction}`.compile(db);
  },
  (order) => order,
  { capacity: 2 },
);

async function searchSegments(search: Search, { term }: IndexedTerm, range: BlockRange, limit: number): Promise<FoundPostings> {
  const { isDescending } = range;
  let { low, high } = range;
  const postings: Posting[] = [];
  let cost = 0;
  for (let segments = 0; low <= high; ) {
    const rows = await readSegments(search, term, { low, high, isDescending });
    cost += rows.reduce((sum, { size }) => sum + Math.max(1, size / BYTES_PER_COST), 0);
    let horizon: number | undefined;
    for (const { first_block, segment, records } of rows) {
      const found = records === null ? [] : entriesWithTerm(records, term);
      postings.push(...found.filter(({ block }) => block >= low && block <= high));
      horizon = Number(isDescending ? first_block : segment);
      // A segment has the blocks of one entry each of a request that a client repeats.
      if (postings.length >= limit) return { postings, horizon, cost };
    }
    if (horizon === undefined || isLast(rows)) break;
    segments += rows.length;
    if (segments >= MAX_SEGMENTS_PER_SEARCH) return { postings, horizon, cost };
    if (isDescending) high = horizon - 1;
    else low = horizon + 1;
  }
  return { postings, horizon: undefined, cost };
}

function readSegments({ db }: Search, term: number, { low, high, isDescending }: BlockRange): Promise<SegmentRow[]> {
  const [bucket, merged] = bucketsOf(term);
  return segmentsWithTerm(isDescending ? "desc" : "asc").rows(db, { bucket, merged, term: numberBytes([term]), low, high });
}

/** Whether there are no more segments. */
function isLast(rows: readonly SegmentRow[]): boolean {
  return rows.length < MAX_SEGMENTS_PER_READ && Number(rows.at(-1)?.total ?? 0) < MAX_BYTES_PER_READ;
}

/** The entries of some blocks. Reads the segments from the first to the last of these. */
export async function indexedIn(search: Search, wanted: IndexedTerm, blocks: readonly SizedBlock[]): Promise<Posting[]> {
  const { true: ofSegments = [], false: rest = [] } = Object.groupBy(blocks, ({ id }) => `${id <= search.indexed}`);
  const found = await Promise.all([searchSegmentsOf(search, wanted, ofSegments), scanGiven(search, wanted, rest)]);
  return found.flat();
}

async function searchSegmentsOf(search: Search, wanted: IndexedTerm, blocks: readonly SizedBlock[]): Promise<Posting[]> {
  const ids = new Set(blocks.map(({ id }) => id));
  const found: Posting[] = [];
  let low = Math.min(...ids);
  const high = Math.max(...ids);
  while (low <= high) {
    const { postings, horizon = high } = await searchSegments(search, wanted, { low, high, isDescending: false }, Number.POSITIVE_INFINITY);
    found.push(...postings.filter(({ block }) => ids.has(block)));
    low = horizon + 1;
  }
  return found;
}
