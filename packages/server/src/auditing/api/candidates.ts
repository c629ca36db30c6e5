/** Finds where the entries of a list may be: walks the blocks of a chain, or the postings of a condition, in the order of the list. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { PAGE } from "../../db/lookup.ts";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import type { Location } from "../chain/block.ts";
import { lastIndexedBlock } from "../chain/segment-index.ts";
import { type Block, indexesWithin, readHeads } from "./blocks.ts";
import { type CandidateRange, type ChainPart, readPart } from "./bounds.ts";
import type { PageEnd } from "./page-end.ts";
import { planConditions, type Sampled } from "./plan.ts";
import {
  addIndexed,
  among,
  type BlockRange,
  type Condition,
  type FoundPostings,
  type Posting,
  postingsIn,
  postingsOfTerm,
  type Search,
  unionOf,
} from "./postings.ts";

export interface Batch {
  readonly locations: readonly Location[];
  /** Number of blocks that were compared; 0 if more batches of the same blocks follow. */
  readonly blocks: number;
  /** Work of finding these blocks, as in `FoundPostings`. */
  readonly cost: number;
  /** Everything up to here is in this batch and those before it; undefined if nothing follows, or more batches of these blocks. */
  readonly end: PageEnd | undefined;
}

/** Enough for a page of a value that one entry in a thousand has, in blocks of two thousand entries. Blocks may have fewer. */
const FIRST_BLOCKS = 32;
const MAX_BLOCKS_PER_BATCH = 256;
const LOCATIONS_PER_BATCH = 200;

interface Candidate extends Block {
  /** Undefined for all entries. */
  readonly postings: readonly Posting[] | undefined;
}

interface Step {
  readonly candidates: readonly Candidate[];
  readonly cost: number;
  /** Undefined after the last step. */
  readonly end: PageEnd | undefined;
}

/** @param conditions an entry meets all of them */
export async function* candidateBatches(db: ReadDb, conditions: readonly Condition[], range: CandidateRange): AsyncGenerator<Batch> {
  const { organization, isDescending } = range;
  const part = await readPart(db, range);
  const blocks = { low: part.low, high: part.high, isDescending };
  const [{ primary, others }, indexed] = await Promise.all([
    planConditions({ db, organization }, conditions, blocks, FIRST_BLOCKS),
    conditions.some((condition) => condition.indexed !== undefined) ? lastIndexedBlock(db) : 0,
  ]);
  const search = { db, organization, indexed };
  const steps = primary === undefined ? walkBlocks(search, part, isDescending) : walkPostings(search, primary, blocks);
  for await (const { candidates, cost, end } of steps) {
    const locationsIn = await createNarrowing(search, candidates, others, { ...range, ...part });
    let locations: Location[] = [];
    for (const candidate of candidates) {
      for (const index of locationsIn(candidate)) locations.push({ block: candidate.id, index });
      if (locations.length < LOCATIONS_PER_BATCH) continue;
      // One block may be more than a page needs.
      yield { locations, blocks: 0, cost: 0, end: undefined };
      locations = [];
    }
    yield { locations, blocks: candidates.length, cost, end };
  }
}

function endOf({ first_number, count }: Block, isDescending: boolean): PageEnd {
  return { number: isDescending ? first_number : first_number + count - 1 };
}

/** Sizes of batches, growing. */
function* batchSizes(): Generator<number, never> {
  for (let size = FIRST_BLOCKS; ; size = Math.min(size * 4, MAX_BLOCKS_PER_BATCH)) yield size;
}

const blocksByNumber = prepareEach(
  (order: "asc" | "desc") => (db, param: Placeholders<{ organization: string; from: number; to: number; limit: number }>) =>
    sql<Block>`select id, first_number, count, last_time from audit_block
      where org_uid = ${param("organization")} and first_number >= ${param("from")} and first_number <= ${param("to")}
      order by first_number ${sql.raw(order)} limit ${param("limit")}`.compile(db),
  (order) => order,
  { capacity: 2, weight: PAGE },
);

async function* walkBlocks({ db, organization }: Search, { begin, last: end }: ChainPart, isDescending: boolean): AsyncGenerator<Step> {
  let from = begin;
  let to = end;
  for (const limit of batchSizes()) {
    const rows = await blocksByNumber(isDescending ? "desc" : "asc").rows(db, { organization, from, to, limit });
    const candidates = rows.map((row) => ({ ...row, id: Number(row.id), first_number: Number(row.first_number), postings: undefined }));
    const last = candidates.at(-1);
    if (last === undefined) return;
    const isLast = candidates.length < limit;
    yield { candidates, cost: 0, end: isLast ? undefined : endOf(last, isDescending) };
    if (isLast) return;
    if (isDescending) to = last.first_number - 1;
    else from = last.first_number + last.count;
  }
}

async function* walkPostings(search: Search, { condition, sample }: Sampled, range: BlockRange): AsyncGenerator<Step> {
  const { isDescending } = range;
  let rest = range;
  let known: FoundPostings | undefined = sample;
  for (const limit of batchSizes()) {
    if (rest.low > rest.high) return;
    const wanted = { condition, range: rest, limit };
    const ofTerm: FoundPostings = known ?? (await postingsOfTerm(search, wanted));
    known = undefined;
    const { postings, horizon, cost } = await addIndexed(search, ofTerm, wanted);
    const candidates = await candidatesOf(search, postings, isDescending);
    // A step without candidates counts too: the terms of other chains, and blocks without an index, have none for long.
    yield { candidates, cost, end: horizon === undefined ? undefined : { block: horizon } };
    if (horizon === undefined) return;
    // SQLite answers within the turn.
    await nextTurn();
    rest = isDescending ? { ...rest, high: horizon - 1 } : { ...rest, low: horizon + 1 };
  }
}

/** The blocks of the chain among those of the postings, in the order of the list. */
async function candidatesOf({ db, organization }: Search, postings: readonly Posting[], isDescending: boolean): Promise<Candidate[]> {
  const byBlock = Map.groupBy(postings, ({ block }) => block);
  const known = new Map(postings.flatMap(({ block, head }) => (head === undefined ? [] : [[block, head] as const])));
  const unknown = [...byBlock.keys()].filter((id) => !known.has(id)).map((id) => ({ id }));
  const blocks = [...known.values(), ...(await readHeads(db, organization, unknown))].filter((block) => block !== null);
  return blocks
    .map((block) => ({ ...block, postings: byBlock.get(block.id) }))
    .toSorted((a, b) => (isDescending ? b.id - a.id : a.id - b.id));
}

/** Reads what the other conditions and the times say about these blocks. @returns the indexes of a candidate, in the order of the list */
async function createNarrowing(
  search: Search,
  candidates: readonly Candidate[],
  others: readonly Condition[],
  range: CandidateRange & ChainPart,
): Promise<(candidate: Candidate) => readonly number[]> {
  const [within, ...postings] = await Promise.all([
    indexesWithin(search.db, candidates, range),
    ...others.map((condition) => postingsIn(search, condition, candidates)),
  ]);
  return ({ id, count, first_number, postings: own }) => {
    const found = postings.map((byBlock) => byBlock.get(id));
    if (found.includes(undefined)) return [];
    const from = Math.max(0, range.first - first_number);
    const to = Math.min(count - 1, range.last - first_number);
    const all = own === undefined ? undefined : unionOf(own, count).filter((index) => index >= from && index <= to);
    let indexes = all ?? Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
    const inside = within.get(id);
    if (inside !== undefined) indexes = indexes.filter((index) => inside.has(index));
    for (const some of found) if (some !== undefined && indexes.length > 0) indexes = among(indexes, some);
    return range.isDescending ? indexes.reverse() : indexes;
  };
}
