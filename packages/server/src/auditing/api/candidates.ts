/** Finds where the entries of a list may be: walks the blocks of a chain, or the postings of a condition, in the order of the list. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";
import type { Location } from "../chain/block.ts";
import {
  type Block,
  type CandidateRange,
  type ChainPart,
  idRows,
  indexesWithin,
  type Numbers,
  readNumbers,
  readPart,
  spanOf,
} from "./bounds.ts";
import type { PageEnd } from "./page-end.ts";
import { type Plan, planConditions } from "./plan.ts";
import { among, type Condition, type Posting, postingsIn, readPostings, unionOf } from "./postings.ts";

export interface Batch {
  readonly locations: readonly Location[];
  /** Number of blocks that were compared; 0 if more batches of the same blocks follow. */
  readonly blocks: number;
  /** Work of finding these blocks, as in `FoundPostings`. */
  readonly cost: number;
  /** Everything up to here is in this batch and those before it. */
  readonly end: PageEnd;
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
  readonly end: PageEnd;
}

/** @param conditions an entry meets all of them */
export async function* candidateBatches(db: ReadDb, conditions: readonly Condition[], range: CandidateRange): AsyncGenerator<Batch> {
  const { isDescending } = range;
  const numbers = await readNumbers(db, range);
  const part = await readPart(db, range, numbers);
  if (part === undefined) return;
  const plan = await planConditions(db, conditions, range, part);
  const steps = plan.primary === undefined ? walkBlocks(db, range, part) : walkPostings(db, plan.primary, range, part);
  for await (const { candidates, cost, end } of steps) {
    const locationsIn = await createNarrowing(db, candidates, plan, range, numbers);
    let locations: Location[] = [];
    for (const candidate of candidates) {
      for (const index of locationsIn(candidate)) locations.push({ block: candidate.id, index });
      if (locations.length < LOCATIONS_PER_BATCH) continue;
      // One block may be more than a page needs.
      yield { locations, blocks: 0, cost: 0, end: endOf(candidate, isDescending) };
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

async function* walkBlocks(
  db: ReadDb,
  { organization, isDescending }: CandidateRange,
  { first, last: end }: ChainPart,
): AsyncGenerator<Step> {
  let [from, to] = [first.first_number, end.first_number];
  for (const size of batchSizes()) {
    const rows = await db
      .selectFrom("audit_block")
      .select(["id", "first_number", "count", "last_time"])
      .where("org_uid", "=", organization)
      .where("first_number", ">=", from)
      .where("first_number", "<=", to)
      .orderBy("first_number", isDescending ? "desc" : "asc")
      .limit(size)
      .execute();
    const candidates = rows.map((row) => ({ ...numeric(row), postings: undefined }));
    const last = candidates.at(-1);
    if (last === undefined) return;
    yield { candidates, cost: 0, end: endOf(last, isDescending) };
    if (candidates.length < size) return;
    if (isDescending) to = last.first_number - 1;
    else from = last.first_number + last.count;
  }
}

async function* walkPostings(
  db: ReadDb,
  condition: Condition,
  { organization, isDescending }: CandidateRange,
  { first, last }: ChainPart,
): AsyncGenerator<Step> {
  let [low, high] = [first.id, last.id];
  for (const size of batchSizes()) {
    if (low > high) return;
    const { postings, horizon, cost } = await readPostings(db, condition, organization, { low, high, isDescending }, size);
    const candidates = await candidatesOf(db, organization, postings, isDescending);
    // A step without candidates counts too: the terms of other chains, and blocks without an index, have none for long.
    yield { candidates, cost, end: { block: horizon ?? (isDescending ? low : high) } };
    if (horizon === undefined) return;
    // SQLite answers within the turn.
    await nextTurn();
    if (isDescending) high = horizon - 1;
    else low = horizon + 1;
  }
}

/** The blocks of the chain among those of the postings, in the order of the list. */
async function candidatesOf(db: ReadDb, organization: string, postings: readonly Posting[], isDescending: boolean): Promise<Candidate[]> {
  if (postings.length === 0) return [];
  const byBlock = Map.groupBy(postings, ({ block }) => block);
  const blocks = [...byBlock.keys()].map((id) => ({ id }));
  const { low, high } = spanOf(blocks);
  const rows = await db
    .selectFrom("audit_block")
    .select(["id", "first_number", "count", "last_time"])
    .where("id", ">=", low)
    .where("id", "<=", high)
    .where("id", "in", db.selectFrom(idRows(db, blocks).as("r")).select("r.id"))
    .where(db.dialect.unindexed("org_uid"), "=", organization)
    .orderBy("id", isDescending ? "desc" : "asc")
    .execute();
  return rows.map((row) => {
    const block = numeric(row);
    return { ...block, postings: byBlock.get(block.id) };
  });
}

function numeric({ id, first_number, count, last_time }: Block): Block {
  return { id: Number(id), first_number: Number(first_number), count, last_time };
}

/** Reads what the other conditions and the times say about these blocks. @returns the indexes of a candidate, in the order of the list */
async function createNarrowing(
  db: ReadDb,
  candidates: readonly Candidate[],
  { others }: Plan,
  range: CandidateRange,
  numbers: Numbers,
): Promise<(candidate: Candidate) => readonly number[]> {
  const postings = await Promise.all(others.map((condition) => postingsIn(db, condition, range.organization, candidates)));
  const within = await indexesWithin(db, candidates, range, numbers);
  return ({ id, count, first_number, postings: own }) => {
    const found = postings.map((byBlock) => byBlock.get(id));
    if (found.includes(undefined)) return [];
    const from = Math.max(0, numbers.first - first_number);
    const to = Math.min(count - 1, numbers.last - first_number);
    const all = own === undefined ? undefined : unionOf(own, count).filter((index) => index >= from && index <= to);
    let indexes = all ?? Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
    const inside = within.get(id);
    if (inside !== undefined) indexes = indexes.filter((index) => inside.has(index));
    for (const some of found) if (some !== undefined && indexes.length > 0) indexes = among(indexes, some);
    return range.isDescending ? indexes.reverse() : indexes;
  };
}
