/** Reads the postings of a condition: which entries of which blocks meet it. They are parsed only where a page needs them. */
import type { ReadDb } from "../../db/store.ts";
import { indexesOfText, membershipOfText } from "../chain/posting-text.ts";
import { idRows, type SizedBlock, spanOf } from "./bounds.ts";
import { findIndexed, type IndexedTerm, indexedIn } from "./segment-search.ts";

/** An entry meets a condition if it has one of the terms, either of a posting or of the index of targets and requests. */
export interface Condition {
  readonly terms: readonly number[];
  readonly indexed: readonly IndexedTerm[];
}

export interface BlockRange {
  readonly low: number;
  readonly high: number;
  readonly isDescending: boolean;
}

/** Entries of a block: their indexes, as numbers or as the text of `audit_posting`. */
export interface Posting {
  readonly block: number;
  readonly entries: string | readonly number[];
}

export interface FoundPostings {
  readonly postings: readonly Posting[];
  /** The last block that was looked at, in the order of the range; undefined for all of the range. */
  readonly horizon: number | undefined;
  /** Rows that were read, each of about 2 KiB. */
  readonly cost: number;
}

/**
 * Several sources end at different blocks: only what all of them have looked at counts.
 * @param limit blocks that are enough
 */
export async function readPostings(
  db: ReadDb,
  { terms, indexed }: Condition,
  organization: string,
  range: BlockRange,
  limit: number,
): Promise<FoundPostings> {
  let rest = range;
  let horizon: number | undefined;
  let cost = 0;
  const found: Posting[] = [];
  const searches = [
    ...terms.map((term) => (part: BlockRange) => findTerm(db, term, part, limit)),
    // Last, because they may look at all segments for a few entries.
    ...indexed.map((wanted) => (part: BlockRange) => findIndexed(db, wanted, organization, part, limit)),
  ];
  for (const search of searches) {
    const { postings, horizon: reached, cost: added } = await search(rest);
    found.push(...postings);
    cost += added;
    if (reached === undefined) continue;
    horizon = reached;
    rest = range.isDescending ? { ...rest, low: reached } : { ...rest, high: reached };
  }
  return { postings: found.filter(({ block }) => block >= rest.low && block <= rest.high), horizon, cost };
}

async function findTerm(db: ReadDb, term: number, { low, high, isDescending }: BlockRange, limit: number): Promise<FoundPostings> {
  const rows = await db
    .selectFrom("audit_posting")
    .select(["block", "entries"])
    .where("term", "=", term)
    .where("block", ">=", low)
    .where("block", "<=", high)
    .orderBy("block", isDescending ? "desc" : "asc")
    .limit(limit)
    .execute();
  const postings = rows.map(({ block, entries }) => ({ block: Number(block), entries }));
  return { postings, horizon: rows.length === limit ? postings.at(-1)?.block : undefined, cost: rows.length };
}

/** The postings of some blocks, by block. */
export async function postingsIn(
  db: ReadDb,
  { terms, indexed }: Condition,
  organization: string,
  blocks: readonly SizedBlock[],
): Promise<Map<number, Posting[]>> {
  if (blocks.length === 0) return new Map();
  const { low, high } = spanOf(blocks);
  const found: Posting[] = [];
  const ids = idRows(db, blocks);
  for (const term of terms) {
    const among = db.selectFrom(ids.as("r")).select("r.id");
    const query = db
      .selectFrom("audit_posting")
      .select(["block", "entries"])
      .where("term", "=", term)
      .where("block", ">=", low)
      .where("block", "<=", high)
      .where("block", "in", among);
    for (const { block, entries } of await query.execute()) found.push({ block: Number(block), entries });
  }
  for (const wanted of indexed) found.push(...(await indexedIn(db, wanted, organization, blocks)));
  return Map.groupBy(found, ({ block }) => block);
}

/**
 * The indexes of the postings of one block, in ascending order. The index is not sealed: what it says too much is compared with the
 * entries, and an index outside of the block is ignored.
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
