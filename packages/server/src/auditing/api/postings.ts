/** Reads the postings of a condition: which entries of which blocks meet it. They are parsed only where a page needs them. */
import { sql } from "kysely";
import { PAGE } from "../../db/lookup.ts";
import { type Placeholders, prepare, prepareEach } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { indexesOfText, membershipOfText } from "../chain/posting-text.ts";
import { type Block, type BlockIds, idsOf, isInChain, type SizedBlock, wantedBlocks } from "./blocks.ts";
import { findIndexed, indexedIn } from "./segment-search.ts";
import type { IndexedTerm } from "./tail-scan.ts";

/** An entry meets a condition if it has one of the terms: that of a posting, or that of the index of targets and requests. */
export interface Condition {
  readonly term?: number;
  readonly indexed?: IndexedTerm;
}

/** Which postings to read. */
export interface WantedPostings {
  readonly condition: Condition;
  readonly range: BlockRange;
  /** Blocks that are enough. */
  readonly limit: number;
}

export interface BlockRange {
  readonly low: number;
  readonly high: number;
  readonly isDescending: boolean;
}

/** The parts that all searches of one page use. */
export interface Search {
  readonly db: ReadDb;
  readonly organization: string;
  /** Id of the last block that a segment of the index had when the page began. */
  readonly indexed: number;
}

/** Entries of a block: their indexes, as numbers or as the text of `audit_posting`. */
export interface Posting {
  readonly block: number;
  readonly entries: string | readonly number[];
  /** Null if the chain does not have the block; absent if nothing has read it yet. */
  readonly head?: Block | null;
}

export interface FoundPostings {
  readonly postings: readonly Posting[];
  /** The last block that was looked at, in the order of the range; undefined for all of the range. */
  readonly horizon: number | undefined;
  /** Rows that were read, each of about 2 KiB. */
  readonly cost: number;
}

const NONE: FoundPostings = { postings: [], horizon: undefined, cost: 0 };

/**
 * Adds the postings of the index to those of the term. Each source may stop at another block: only blocks that both have looked at
 * count. The index comes last, because it may look at all segments for a few entries.
 */
export async function addIndexed(
  search: Search,
  ofTerm: FoundPostings,
  { condition: { indexed }, range, limit }: WantedPostings,
): Promise<FoundPostings> {
  if (indexed === undefined) return ofTerm;
  const found = await findIndexed(search, indexed, upTo(range, ofTerm.horizon), limit);
  const horizon = found.horizon ?? ofTerm.horizon;
  const { low, high } = upTo(range, horizon);
  const postings = [...ofTerm.postings, ...found.postings].filter(({ block }) => block >= low && block <= high);
  return { postings, horizon, cost: ofTerm.cost + found.cost };
}

function upTo(range: BlockRange, horizon: number | undefined): BlockRange {
  if (horizon === undefined) return range;
  return range.isDescending ? { ...range, low: horizon } : { ...range, high: horizon };
}

interface TermValues {
  readonly organization: string;
  readonly term: number;
  readonly low: number;
  readonly high: number;
  readonly limit: number;
}

interface TermRow {
  readonly block: number;
  readonly entries: string;
  readonly head: string | null;
}

const postingsByTerm = prepareEach(
  (order: "asc" | "desc") => (db, param: Placeholders<TermValues>) => {
    const head = db.dialect.jsonOf([sql`b.first_number`, sql`b.count`, sql`b.last_time`]);
    return sql<TermRow>`select p.block, p.entries,
      (select ${head} from audit_block as b where b.id = p.block and ${isInChain(db.dialect, param("organization"))}) as head
      from audit_posting as p where p.term = ${param("term")} and p.block >= ${param("low")} and p.block <= ${param("high")}
      order by p.block ${sql.raw(order)} limit ${param("limit")}`.compile(db);
  },
  (order) => order,
  { capacity: 2, weight: PAGE },
);

/** The first postings of the condition's term, with the blocks that they are of. */
export async function postingsOfTerm(
  { db, organization }: Pick<Search, "db" | "organization">,
  { condition: { term }, range, limit }: WantedPostings,
): Promise<FoundPostings> {
  if (term === undefined) return NONE;
  const { low, high, isDescending } = range;
  const rows = await postingsByTerm(isDescending ? "desc" : "asc").rows(db, { organization, term, low, high, limit });
  const postings = rows.map(({ block, entries, head }) => ({ block: Number(block), entries, head: headFrom(Number(block), head) }));
  return { postings, horizon: rows.length === limit ? postings.at(-1)?.block : undefined, cost: rows.length };
}

function headFrom(id: number, text: string | null): Block | null {
  if (text === null) return null;
  const [first_number, count, last_time] = JSON.parse(text) as [number, number, string];
  return { id, first_number, count, last_time };
}

const postingsByBlock = prepare(
  (db, param: Placeholders<{ term: number; ids: BlockIds }>) => {
    const condition = sql<boolean>`p.term = ${param("term")} and p.block = r.id`;
    const wanted = wantedBlocks(db.dialect, param("ids"));
    return sql<Posting>`${db.dialect.lookUp(sql`p.block, p.entries`, wanted, sql`audit_posting as p`, condition)}`.compile(db);
  },
  { weight: PAGE },
);

/** The postings of some blocks, by block. */
export async function postingsIn(search: Search, { term, indexed }: Condition, blocks: readonly SizedBlock[]) {
  if (blocks.length === 0) return new Map<number, Posting[]>();
  const [ofTerm, ofIndex] = await Promise.all([
    term === undefined ? [] : postingsByBlock.rows(search.db, { term, ids: idsOf(blocks) }),
    indexed === undefined ? [] : indexedIn(search, indexed, blocks),
  ]);
  return Map.groupBy<number, Posting>([...ofTerm, ...ofIndex], ({ block }) => Number(block));
}

/**
 * The indexes of the postings of one block, in ascending order. Postings are not sealed, so they may be wrong: the caller compares the
 * entries with the condition, and an index outside of the block is ignored.
 * @param count entries of the block
 */
export function unionOf(postings: readonly Posting[], count: number): number[] {
  const [first] = postings;
  if (postings.length === 1 && first !== undefined) return indexesOf(first, count);
  return [...new Set(postings.flatMap((posting) => indexesOf(posting, count)))].toSorted((a, b) => a - b);
}

/** Those of the indexes that one of the postings has. */
export function among(indexes: readonly number[], postings: readonly Posting[]): number[] {
  const tests = postings.map((posting) => membership(posting, indexes.length));
  return indexes.filter((index) => tests.some((has) => has(index)));
}

function membership({ entries }: Posting, searches: number): (index: number) => boolean {
  if (typeof entries === "string") return membershipOfText(entries, searches);
  const indexes = new Set(entries);
  return (index) => indexes.has(index);
}

function indexesOf({ entries }: Posting, count: number): number[] {
  return typeof entries === "string" ? indexesOfText(entries, count) : entries.filter((index) => index < count);
}
