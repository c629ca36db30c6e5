/** Finds where the entries of a list may be: walks the blocks of a chain, or the postings of a term, in the order of the list. */
import type { ReadDb } from "../../db/store.ts";
import { type BlockHead, blockAt, type Location } from "../chain/block.ts";
import { type BlockRange, type FoundPostings, findTarget, indexesIn } from "../chain/target-index.ts";

export interface CandidateRange {
  readonly organization: string;
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** Number of the entry after which the page begins, in the order of the list. */
  readonly after: number | undefined;
  readonly isDescending: boolean;
}

export interface Batch {
  readonly locations: readonly Location[];
  /** Number of blocks that were compared; 0 if more batches of the same blocks follow. */
  readonly blocks: number;
  /** Number of the last entry of these blocks, in the order of the list. */
  readonly end: number;
}

/** Blocks may have one entry or two thousand. */
const BLOCKS_PER_BATCH = 100;
const LOCATIONS_PER_BATCH = 200;
/** Entries are nearly in the order of their times. This bound allows for clocks that differ and for long calls. */
const SLACK_MS = 5 * 60_000;

/** First and last number of the entries that the list may have. */
interface Numbers {
  first: number;
  last: number;
}

/** An entry meets a condition if it has one of the terms, or a target with one of the others. */
export interface Condition {
  readonly terms: readonly number[];
  readonly targets: readonly number[];
}

interface Candidate extends BlockHead {
  /** Undefined for all entries. */
  readonly indexes: readonly number[] | undefined;
}

/** @param conditions an entry meets all of them */
export async function* candidateBatches(db: ReadDb, conditions: readonly Condition[], range: CandidateRange): AsyncGenerator<Batch> {
  const numbers = await numbersOf(db, range);
  const [primary, ...others] = conditions;
  const batches = primary === undefined ? walkBlocks(db, range, numbers) : walkPostings(db, primary, range, numbers);
  for await (const candidates of batches) {
    const last = candidates.at(-1);
    if (last === undefined) continue;
    const endOf = ({ first_number, count }: Candidate) => (range.isDescending ? first_number : first_number + count - 1);
    let locations: Location[] = [];
    for (const candidate of await intersect(db, candidates, others)) {
      locations.push(...locationsIn(candidate, numbers, range.isDescending));
      if (locations.length < LOCATIONS_PER_BATCH) continue;
      // One block may be more than a page needs.
      yield { locations, blocks: 0, end: endOf(candidate) };
      locations = [];
    }
    yield { locations, blocks: candidates.length, end: endOf(last) };
  }
}

/** Blocks around the times bound the numbers. */
async function numbersOf(db: ReadDb, { organization, since, until, after, isDescending }: CandidateRange): Promise<Numbers> {
  const numbers = { first: 1, last: Number.MAX_SAFE_INTEGER };
  const blocks = db.selectFrom("audit_block").select(["id", "first_number", "count"]).where("org_uid", "=", organization).limit(1);
  if (since !== undefined) {
    const before = await blocks.where("last_time", "<", shift(since, -SLACK_MS)).orderBy("last_time", "desc").executeTakeFirst();
    if (before !== undefined) numbers.first = Number(before.first_number) + before.count;
  }
  if (until !== undefined) {
    const behind = await blocks.where("last_time", ">=", shift(until, SLACK_MS)).orderBy("last_time").executeTakeFirst();
    if (behind !== undefined) numbers.last = Number(behind.first_number) + behind.count - 1;
  }
  if (after !== undefined && isDescending) numbers.last = Math.min(numbers.last, after - 1);
  if (after !== undefined && !isDescending) numbers.first = Math.max(numbers.first, after + 1);
  return numbers;
}

function shift(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}

async function* walkBlocks(db: ReadDb, { organization, isDescending }: CandidateRange, numbers: Numbers): AsyncGenerator<Candidate[]> {
  const rest = { ...numbers };
  for (;;) {
    const from = (await blockAt(db, organization, rest.first))?.first_number ?? rest.first;
    const rows = await db
      .selectFrom("audit_block")
      .select(["id", "first_number", "count"])
      .where("org_uid", "=", organization)
      .where("first_number", ">=", from)
      .where("first_number", "<=", rest.last)
      .orderBy("first_number", isDescending ? "desc" : "asc")
      .limit(BLOCKS_PER_BATCH)
      .execute();
    const candidates = rows.map((row) => ({ ...numeric(row), indexes: undefined }));
    yield candidates;
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < BLOCKS_PER_BATCH) return;
    if (isDescending) rest.last = last.first_number - 1;
    else rest.first = last.first_number + last.count;
    if (rest.first > rest.last) return;
  }
}

/** Blocks have ids in the order of their chain, so bounds of numbers are bounds of ids. */
async function* walkPostings(
  db: ReadDb,
  condition: Condition,
  range: CandidateRange,
  { first, last }: Numbers,
): AsyncGenerator<Candidate[]> {
  const { organization, isDescending } = range;
  const highest = await blockAt(db, organization, last);
  if (highest === undefined) return;
  let low = Number((await blockAt(db, organization, first))?.id ?? 0);
  let high = Number(highest.id);
  while (low <= high) {
    const { postings, horizon } = await readPostings(db, condition, organization, { low, high, isDescending });
    yield await candidatesOf(db, organization, postings, isDescending);
    if (horizon === undefined) return;
    if (isDescending) high = horizon - 1;
    else low = horizon + 1;
  }
}

/** Several sources end at different blocks: only what all of them have looked at counts. */
async function readPostings(db: ReadDb, { terms, targets }: Condition, organization: string, range: BlockRange): Promise<FoundPostings> {
  const found = await Promise.all([
    ...targets.map((term) => findTarget(db, term, organization, range, BLOCKS_PER_BATCH)),
    ...terms.map((term) => findTerm(db, term, range)),
  ]);
  const horizons = found.flatMap(({ horizon }) => horizon ?? []);
  const postings = found.flatMap((source) => source.postings);
  if (horizons.length === 0) return { postings, horizon: undefined };
  const horizon = range.isDescending ? Math.max(...horizons) : Math.min(...horizons);
  return { postings: postings.filter(({ block }) => (range.isDescending ? block >= horizon : block <= horizon)), horizon };
}

async function findTerm(db: ReadDb, term: number, { low, high, isDescending }: BlockRange): Promise<FoundPostings> {
  const rows = await db
    .selectFrom("audit_posting")
    .select(["block", "entries"])
    .where("term", "=", term)
    .where("block", ">=", low)
    .where("block", "<=", high)
    .orderBy("block", isDescending ? "desc" : "asc")
    .limit(BLOCKS_PER_BATCH)
    .execute();
  const postings = rows.map(({ block, entries }) => ({ block: Number(block), entries }));
  return { postings, horizon: rows.length === BLOCKS_PER_BATCH ? postings.at(-1)?.block : undefined };
}

/** The blocks of the chain among those of the postings, in the order of the list. */
async function candidatesOf(
  db: ReadDb,
  organization: string,
  postings: FoundPostings["postings"],
  isDescending: boolean,
): Promise<Candidate[]> {
  if (postings.length === 0) return [];
  const byBlock = Map.groupBy(postings, ({ block }) => block);
  const ids = db.dialect.rowsOf(
    [...byBlock.keys()].map((id) => ({ id })),
    { id: "bigint" },
  );
  const rows = await db
    .selectFrom("audit_block")
    .select(["id", "first_number", "count"])
    .where("id", "in", db.selectFrom(ids.as("r")).select("r.id"))
    .where("org_uid", "=", organization)
    .orderBy("id", isDescending ? "desc" : "asc")
    .execute();
  return rows.map((row) => {
    const block = numeric(row);
    return { ...block, indexes: unionOf(byBlock.get(block.id) ?? [], block.count) };
  });
}

async function intersect(db: ReadDb, candidates: readonly Candidate[], conditions: readonly Condition[]): Promise<readonly Candidate[]> {
  let narrowed = candidates;
  for (const { terms, targets } of conditions) {
    if (narrowed.length === 0) return [];
    const ids = narrowed.map(({ id }) => id);
    const rows = await db
      .selectFrom("audit_posting")
      .select(["block", "entries"])
      .where("term", "in", terms.length === 0 ? [-1] : terms)
      .where("block", "in", ids)
      .execute();
    const postings = Map.groupBy(rows, ({ block }) => Number(block));
    const ofTargets = await indexesOfTargets(db, ids, targets);
    narrowed = narrowed.flatMap((candidate) => {
      const { id, count } = candidate;
      const allowed = new Set([...unionOf(postings.get(id) ?? [], count), ...(ofTargets.get(id) ?? [])]);
      const indexes = (candidate.indexes ?? []).filter((index) => allowed.has(index));
      return indexes.length === 0 ? [] : [{ ...candidate, indexes }];
    });
  }
  return narrowed;
}

async function indexesOfTargets(db: ReadDb, ids: readonly number[], targets: readonly number[]): Promise<Map<number, number[]>> {
  if (targets.length === 0) return new Map();
  const rows = await db.selectFrom("audit_block").select(["id", "targets"]).where("id", "in", ids).execute();
  const terms = new Set(targets);
  return new Map(rows.map((row) => [Number(row.id), indexesIn(row.targets, terms)]));
}

/** The index is not sealed: what it says too much is compared with the entries, and an index outside of the block is ignored. */
function unionOf(postings: readonly { readonly entries: string }[], count: number): number[] {
  const indexes = new Set<number>();
  for (const { entries } of postings) for (const index of indexesOf(entries, count)) indexes.add(index);
  return postings.length > 1 ? [...indexes].toSorted((a, b) => a - b) : [...indexes];
}

function indexesOf(entries: string, count: number): number[] {
  if (entries === "*") return Array.from({ length: count }, (_, index) => index);
  return entries
    .split(",")
    .map(Number)
    .filter((index) => index >= 0 && index < count);
}

function numeric({ id, first_number, count }: BlockHead): BlockHead {
  return { id: Number(id), first_number: Number(first_number), count };
}

function locationsIn({ id, first_number, count, indexes }: Candidate, { first, last }: Numbers, isDescending: boolean): Location[] {
  const from = Math.max(0, first - first_number);
  const to = Math.min(count - 1, last - first_number);
  const all = indexes ?? Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
  const locations = all.filter((index) => index >= from && index <= to).map((index) => ({ block: id, index }));
  return isDescending ? locations.toReversed() : locations;
}
