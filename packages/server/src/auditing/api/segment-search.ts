/** Finds entries by the term of their target or request: in the segments of the index, and in the blocks after the last one. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";
import { numbersOf } from "../chain/block.ts";
import { lastIndexedBlock } from "../chain/segment-index.ts";
import { bucketsOf, entriesWithTerm } from "../chain/segment-records.ts";
import { idRows, type SizedBlock, spanOf } from "./bounds.ts";
import type { BlockRange, FoundPostings, Posting } from "./postings.ts";

/** The property of entries that has the term. */
export type IndexedColumn = "targets" | "requests";

export interface IndexedTerm {
  readonly column: IndexedColumn;
  readonly term: number;
}

/** A frequent term has enough entries in few segments. Its bucket may have 240 KiB, and others have about 2 KiB. */
const SEGMENTS_PER_FIRST_READ = 8;
/** Two statements read those of ten million entries, if no entry has the term. */
const GROWTH_OF_READS = 8;
const MAX_SEGMENTS_PER_READ = 256;
/** One search: the segments of 260 million entries. */
const MAX_SEGMENTS_PER_SEARCH = 1024;
/** Usually the blocks after the last segment are fewer. They are more while the index is made anew. */
const MAX_SCANNED_BLOCKS = 2048;
const MAX_SCANNED_ENTRIES = 32_768;
const BYTES_PER_COST = 2048;
const BYTES_PER_TERM = 6;

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
  let cost = 0;
  for (const [at, search] of (range.isDescending ? parts.toReversed() : parts).entries()) {
    const found = await search(limit - postings.length);
    postings.push(...found.postings);
    cost += found.cost;
    if (found.horizon !== undefined) return { postings, horizon: found.horizon, cost };
    const border = range.isDescending ? tail.low : rest.high;
    const hasMore = range.isDescending ? rest.low <= rest.high : tail.low <= tail.high;
    if (at === 0 && postings.length >= limit && hasMore) return { postings, horizon: border, cost };
  }
  return { postings, horizon: undefined, cost };
}

async function searchSegments(db: ReadDb, { term }: IndexedTerm, range: BlockRange, limit: number): Promise<FoundPostings> {
  const { isDescending } = range;
  let { low, high } = range;
  const postings: Posting[] = [];
  let cost = 0;
  let size = SEGMENTS_PER_FIRST_READ;
  for (let segments = 0; low <= high; size = Math.min(size * GROWTH_OF_READS, MAX_SEGMENTS_PER_READ)) {
    const rows = await readSegments(db, term, { low, high, isDescending }, size);
    cost += rows.reduce((sum, { records }) => sum + Math.max(1, records.length / BYTES_PER_COST), 0);
    let horizon: number | undefined;
    for (const { first_block, segment, records } of rows) {
      for (const posting of entriesWithTerm(records, term)) if (posting.block >= low && posting.block <= high) postings.push(posting);
      horizon = Number(isDescending ? first_block : segment);
      // A segment has the blocks of one entry each of a request that a client repeats.
      if (postings.length >= limit) return { postings, horizon, cost };
    }
    if (horizon === undefined || rows.length < size) break;
    segments += rows.length;
    if (segments >= MAX_SEGMENTS_PER_SEARCH) return { postings, horizon, cost };
    if (isDescending) high = horizon - 1;
    else low = horizon + 1;
  }
  return { postings, horizon: undefined, cost };
}

/** The segments that have blocks of the range, in its order. Those of a term are few, merged or not yet, so they are cheap to sort. */
function readSegments(db: ReadDb, term: number, { low, high, isDescending }: BlockRange, size: number) {
  return db
    .selectFrom("audit_segment")
    .select(["segment", "first_block", "records"])
    .where("bucket", "in", bucketsOf(term))
    .where("segment", ">=", low)
    .where(db.dialect.unindexed("first_block"), "<=", high)
    .orderBy("segment", isDescending ? "desc" : "asc")
    .limit(size)
    .execute();
}

async function scanBlocks(db: ReadDb, wanted: IndexedTerm, organization: string, range: BlockRange): Promise<FoundPostings> {
  const { low, high, isDescending } = range;
  if (low > high) return { postings: [], horizon: undefined, cost: 0 };
  const heads = await db
    .selectFrom("audit_block")
    .select(["id", "count"])
    .where("id", ">=", low)
    .where("id", "<=", high)
    .orderBy("id", isDescending ? "desc" : "asc")
    .limit(MAX_SCANNED_BLOCKS)
    .execute();
  const some = takeEntries(heads.map(({ id, count }) => ({ id: Number(id), count })));
  const last = some.at(-1)?.id;
  if (last === undefined) return { postings: [], horizon: undefined, cost: 0 };
  const isAll = heads.length < MAX_SCANNED_BLOCKS && some.length === heads.length;
  const [from, to] = isDescending ? [last, high] : [low, last];
  const rows = await selectColumn(db, wanted, organization).where("id", ">=", from).where("id", "<=", to).execute();
  const postings = rows.flatMap((row) => postingIn(row, wanted));
  const entries = some.reduce((sum, { count }) => sum + count, 0);
  return { postings, horizon: isAll ? undefined : last, cost: some.length + (entries * BYTES_PER_TERM) / BYTES_PER_COST };
}

/** The first blocks, as many as one statement may scan. */
function takeEntries(blocks: readonly SizedBlock[]): readonly SizedBlock[] {
  let entries = 0;
  const end = blocks.findIndex(({ count }, at) => {
    entries += count;
    return at > 0 && entries > MAX_SCANNED_ENTRIES;
  });
  return end === -1 ? blocks : blocks.slice(0, end);
}

function selectColumn(db: ReadDb, { column }: IndexedTerm, organization: string) {
  return db
    .selectFrom("audit_block")
    .select(["id", `${column} as terms`])
    .where(db.dialect.unindexed("org_uid"), "=", organization)
    .orderBy("id");
}

function postingIn({ id, terms }: { id: number; terms: Uint8Array | null }, { term }: IndexedTerm): Posting[] {
  const entries = terms === null ? ALL : numbersOf(terms).flatMap((one, index) => (one === term ? [index] : []));
  return entries.length === 0 ? [] : [{ block: Number(id), entries }];
}

/** In the form of a posting. */
const ALL = "*";

/** The entries of some blocks. Reads the segments from the first to the last of these. */
export async function indexedIn(db: ReadDb, wanted: IndexedTerm, organization: string, blocks: readonly SizedBlock[]): Promise<Posting[]> {
  const indexed = await lastIndexedBlock(db);
  const found = await searchSegmentsOf(
    db,
    wanted,
    blocks.filter(({ id }) => id <= indexed),
  );
  let rest = blocks.filter(({ id }) => id > indexed);
  while (rest.length > 0) {
    const some = takeEntries(rest);
    const ids = db.selectFrom(idRows(db, some).as("r")).select("r.id");
    const rows = await selectColumn(db, wanted, organization).where("id", "in", ids).execute();
    found.push(...rows.flatMap((row) => postingIn(row, wanted)));
    rest = rest.slice(some.length);
    await nextTurn();
  }
  return found;
}

async function searchSegmentsOf(db: ReadDb, wanted: IndexedTerm, blocks: readonly SizedBlock[]): Promise<Posting[]> {
  if (blocks.length === 0) return [];
  const ids = new Set(blocks.map(({ id }) => id));
  const found: Posting[] = [];
  let { low, high } = spanOf(blocks);
  while (low <= high) {
    const { postings, horizon = high } = await searchSegments(db, wanted, { low, high, isDescending: false }, Number.POSITIVE_INFINITY);
    found.push(...postings.filter(({ block }) => ids.has(block)));
    low = horizon + 1;
  }
  return found;
}
