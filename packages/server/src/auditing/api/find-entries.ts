/** Finds the entries of a page: by the index of postings where a filter has one, and by a bounded scan otherwise. */
import { type EntryHead, parseHead } from "../../audit/audit-entry.ts";
import type { ReadDb } from "../../db/store.ts";
import { isAtOrBelow } from "../../lib/uid.ts";
import type { ChainEntry } from "../chain/block.ts";
import { bytesOf, MAX_READ_BYTES } from "../chain/entry-contents.ts";
import { countReads, readLocated } from "../chain/located-entries.ts";
import { keyOf, type Property, prefixesOf, REFUSED, requestTerm, targetTerm, termOf } from "../chain/terms.ts";
import { type Batch, candidateBatches } from "./candidates.ts";
import type { PageEnd } from "./page-end.ts";
import type { Condition } from "./postings.ts";

export interface EntryFilter {
  /** The chain. */
  readonly organization: string;
  /** Uid of a group in the organization; undefined for all entries. */
  readonly below: string | undefined;
  /** Undefined or empty for any. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly refused: boolean;
  readonly remoteAddress: string;
  readonly requestId: string;
  /** In the form of columns; undefined for no bound. */
  readonly since: string | undefined;
  readonly until: string | undefined;
}

export interface Window {
  readonly isDescending: boolean;
  /** The end of the page before; undefined for the first page. */
  readonly after: PageEnd | undefined;
  readonly limit: number;
}

export interface FoundEntries {
  readonly entries: readonly ChainEntry[];
  /** The next page begins after it; undefined after the last page. */
  readonly next: PageEnd | undefined;
}

/** Entries that are read for one page if the index has more than the filters match, and blocks whose postings are compared. */
const MAX_ENTRIES = 1000;
/** Entries far from each other are read one by one, which takes this much longer. */
const ENTRIES_PER_READ_OF_BLOCK = 4;
const MAX_BLOCKS = 160;
/** Rows of the index for one page: the merged segments of a billion entries, or the terms of 1.2 million entries without an index. */
const MAX_SEARCH_COST = 4096;
const ENTRIES_PER_READ = 250;
const MIN_ENTRIES_PER_READ = 8;

export async function findEntries(db: ReadDb, filter: EntryFilter, window: Window): Promise<FoundEntries> {
  const { limit, isDescending, after } = window;
  const { organization, since, until } = filter;
  const found: ChainEntry[] = [];
  const scanned = { entries: 0, cost: 0, blocks: 0, searched: 0, foundBytes: 0 };
  const range = { organization, since, until, after, isDescending };
  for await (const batch of candidateBatches(db, conditionsOf(filter), range)) {
    const end = await addMatches(db, batch, { filter, limit, found, scanned });
    if (isPageFull(found, limit, scanned)) return pageOf(found.slice(0, limit));
    if (end !== undefined) return { entries: found, next: { number: end } };
    scanned.blocks += batch.blocks;
    scanned.searched += batch.cost;
    const isEnough = scanned.blocks >= MAX_BLOCKS || scanned.searched >= MAX_SEARCH_COST;
    if (isEnough && batch.end !== undefined) return { entries: found, next: batch.end };
  }
  return { entries: found, next: undefined };
}

function pageOf(entries: readonly ChainEntry[]): FoundEntries {
  const last = entries.at(-1);
  return { entries, next: last && { number: last.number } };
}

interface Search {
  readonly filter: EntryFilter;
  readonly limit: number;
  readonly found: ChainEntry[];
  readonly scanned: { entries: number; cost: number; foundBytes: number };
}

/** The page ends with the entry that reaches the bytes of one read. The entry after its limit shows that there is a next page. */
function isPageFull(found: readonly ChainEntry[], limit: number, { foundBytes }: Pick<Search["scanned"], "foundBytes">): boolean {
  return found.length > limit || foundBytes >= MAX_READ_BYTES;
}

/** @returns the number of the last entry that was read, if there may be no more for this page */
async function addMatches(db: ReadDb, { locations }: Batch, search: Search): Promise<number | undefined> {
  const { filter, limit, found, scanned } = search;
  const isFull = () => isPageFull(found, limit, scanned);
  for (let start = 0; start < locations.length && !isFull(); ) {
    const size = readSize(limit + 1 - found.length, found.length, scanned.entries);
    const some = locations.slice(start, start + size);
    const { entries, count } = await readLocated(db, some);
    for (const entry of entries) {
      if (isFull() || !matches(entry, filter)) continue;
      found.push(entry);
      scanned.foundBytes += bytesOf(entry);
    }
    start += count;
    scanned.entries += entries.length;
    scanned.cost += entries.length + (ENTRIES_PER_READ_OF_BLOCK - 1) * countReads(db, some);
    if (scanned.cost >= MAX_ENTRIES && !isFull()) return entries.at(-1)?.number;
  }
  return undefined;
}

/** As many as the page still needs: at first all of them are expected to match, and later as many as before. */
function readSize(needed: number, found: number, scanned: number): number {
  const expected = scanned === 0 ? needed : (needed * scanned) / Math.max(1, found);
  return Math.min(Math.max(Math.ceil(expected), MIN_ENTRIES_PER_READ), ENTRIES_PER_READ);
}

/** The conditions that the index knows. */
function conditionsOf(filter: EntryFilter): Condition[] {
  const { organization, target, actor, action, outcome, refused, remoteAddress, requestId, below } = filter;
  const conditions: Condition[] = [];
  const add = (property: Property, value: string, indexed: Pick<Condition, "indexed"> = {}) =>
    void conditions.push({ term: termOf(organization, keyOf(property, value)), ...indexed });
  const ofTarget = (uid: string): Condition => ({ indexed: { column: "targets", term: targetTerm(uid) } });
  if (requestId !== "") conditions.push({ indexed: { column: "requests", term: requestTerm(requestId) } });
  if (target !== "") conditions.push(ofTarget(target));
  if (actor !== "") add("actor", actor);
  if (outcome !== "" && outcome !== "OK") add("outcome", outcome);
  else if (refused) add("outcome", REFUSED);
  if (remoteAddress !== "") add("address", remoteAddress);
  if (below !== undefined) add("below", below, ofTarget(below));
  const prefix = action.endsWith("*") ? prefixesOf(action.slice(0, -1)).at(-1) : undefined;
  if (prefix !== undefined) add("action-prefix", prefix);
  else if (action !== "" && !action.endsWith("*")) add("action", action);
  return conditions;
}

function matches({ content }: ChainEntry, filter: EntryFilter): boolean {
  const head = content === undefined ? undefined : headOf(content);
  // A missing or damaged entry stays visible to those who look at everything.
  if (head === undefined) return isUnfiltered(filter);
  const { since, until, below } = filter;
  return (
    isSame(filter.actor, head.actor) &&
    isSame(filter.target, head.target) &&
    isSame(filter.outcome, head.outcome) &&
    isSame(filter.remoteAddress, head.remote_address) &&
    isSame(filter.requestId, head.request_id) &&
    isAction(filter.action, head.action) &&
    !(filter.refused && head.outcome === "OK") &&
    (below === undefined || isAtOrBelow(head.target, below)) &&
    (since === undefined || head.time >= since) &&
    (until === undefined || head.time < until)
  );
}

function isSame(wanted: string, value: string): boolean {
  return wanted === "" || wanted === value;
}

function isAction(wanted: string, action: string): boolean {
  return wanted.endsWith("*") ? action.startsWith(wanted.slice(0, -1)) : isSame(wanted, action);
}

function isUnfiltered({ organization: _, below, refused, ...texts }: EntryFilter): boolean {
  return below === undefined && !refused && Object.values(texts).every((value) => value === undefined || value === "");
}

function headOf(content: string): EntryHead | undefined {
  try {
    return parseHead(content);
  } catch {
    return undefined;
  }
}
