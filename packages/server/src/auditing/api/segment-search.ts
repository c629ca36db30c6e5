/** Finds entries by the term of their target or request: in the segments of the index, and in the blocks after the last one. */
import type { ReadDb } from "../../db/store.ts";
import { numbersOf } from "../chain/block.ts";
import { lastIndexedBlock } from "../chain/segment-index.ts";
import { bucketOf, entriesWithTerm } from "../chain/segment-records.ts";
import type { BlockRange, FoundPostings, Posting } from "./postings.ts";

/** The property of entries that has the term. */
export type IndexedColumn = "targets" | "requests";

export interface IndexedTerm {
  readonly column: IndexedColumn;
  readonly term: number;
}

/** One statement reads this many segments at most. A bucket has about 2 KiB. */
const MAX_SEGMENTS_PER_READ = 256;
/** Segments of many entries have about as many blocks of the largest size. */
const BLOCKS_PER_SEGMENT = 8;
/** Usually the blocks after the last segment are fewer. They are more while the index is made anew. */
const MAX_SCANNED_BLOCKS = 2048;
const MAX_SCANNED_ENTRIES = 32_768;

/** @param limit blocks that are enough */
export async function findIndexed(
  db: ReadDb,
  wanted: IndexedTerm,
  organization: string,
  range: BlockRange,
  limit: number,
): Promise<FoundPostings> {
  const indexed = await lastIndexedBlock(db);
  const tail: BlockRange = { ...range, low: Math.max(range.low, indexed + 1) };
  const rest: BlockRange = { ...range, high: Math.min(range.high, indexed) };
  const parts = [(some: number) => searchSegments(db, wanted, rest, some), () => scanBlocks(db, wanted, organization, tail)];
  const postings: Posting[] = [];
  for (const [at, search] of (range.isDescending ? parts.toReversed() : parts).entries()) {
    const found = await search(limit - postings.length);
    postings.push(...found.postings);
    if (found.horizon !== undefined) return { postings, horizon: found.horizon };
    const border = range.isDescending ? tail.low : rest.high;
    const hasMore = range.isDescending ? rest.low <= rest.high : tail.low <= tail.high;
    if (at === 0 && postings.length >= limit && hasMore) return { postings, horizon: border };
  }
  return { postings, horizon: undefined };
}

async function searchSegments(db: ReadDb, { term }: IndexedTerm, range: BlockRange, limit: number): Promise<FoundPostings> {
  const { isDescending } = range;
  let { low, high } = range;
  const postings: Posting[] = [];
  let size = Math.min(Math.max(1, Math.ceil(limit / BLOCKS_PER_SEGMENT)), MAX_SEGMENTS_PER_READ);
  while (low <= high) {
    const rows = await readSegments(db, bucketOf(term), { low, high, isDescending }, size);
    for (const { records } of rows)
      for (const posting of entriesWithTerm(records, term)) if (posting.block >= low && posting.block <= high) postings.push(posting);
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) break;
    const horizon = Number(isDescending ? last.first_block : last.segment);
    if (postings.length >= limit) return { postings, horizon };
    if (isDescending) high = horizon - 1;
    else low = horizon + 1;
    size = Math.min(size * 4, MAX_SEGMENTS_PER_READ);
  }
  return { postings, horizon: undefined };
}

/** The segments that have blocks of the range, in its order. */
function readSegments(db: ReadDb, bucket: number, { low, high, isDescending }: BlockRange, size: number) {
  const segments = db.selectFrom("audit_segment").where("bucket", "=", bucket);
  const after = segments.select("segment").where("segment", ">=", high).orderBy("segment").limit(1);
  return segments
    .select(["segment", "first_block", "records"])
    .where("segment", ">=", low)
    .where("segment", "<=", ({ fn, val }) => fn.coalesce(after, val(high)))
    .orderBy("segment", isDescending ? "desc" : "asc")
    .limit(size)
    .execute();
}

async function scanBlocks(db: ReadDb, wanted: IndexedTerm, organization: string, range: BlockRange): Promise<FoundPostings> {
  const { low, high, isDescending } = range;
  if (low > high) return { postings: [], horizon: undefined };
  const heads = await db
    .selectFrom("audit_block")
    .select(["id", "count"])
    .where("id", ">=", low)
    .where("id", "<=", high)
    .orderBy("id", isDescending ? "desc" : "asc")
    .limit(MAX_SCANNED_BLOCKS)
    .execute();
  let entries = 0;
  let last: number | undefined;
  for (const { id, count } of heads) {
    if (last !== undefined && entries + count > MAX_SCANNED_ENTRIES) break;
    entries += count;
    last = Number(id);
  }
  if (last === undefined) return { postings: [], horizon: undefined };
  const isAll = heads.length < MAX_SCANNED_BLOCKS && last === Number(heads.at(-1)?.id);
  const [from, to] = isDescending ? [last, high] : [low, last];
  return { postings: await scanColumn(db, wanted, organization, { low: from, high: to, isDescending }), horizon: isAll ? undefined : last };
}

async function scanColumn(db: ReadDb, { column, term }: IndexedTerm, organization: string, { low, high }: BlockRange): Promise<Posting[]> {
  const rows = await db
    .selectFrom("audit_block")
    .select(["id", `${column} as terms`])
    .where("id", ">=", low)
    .where("id", "<=", high)
    .where(db.dialect.unindexed("org_uid"), "=", organization)
    .orderBy("id")
    .execute();
  return rows.flatMap(({ id, terms }) => {
    const entries = terms === null ? ALL : numbersOf(terms).flatMap((one, index) => (one === term ? [index] : []));
    return entries.length === 0 ? [] : [{ block: Number(id), entries }];
  });
}

/** In the form of a posting. */
const ALL = "*";
