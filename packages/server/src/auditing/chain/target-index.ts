/**
 * The index of targets. Once enough entries are sealed, it writes a segment of their postings, sorted. A reader looks up a target in each
 * segment, and scans the terms of the blocks after the last one.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { AuditTargetTable } from "../../audit/tables.ts";
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { numbersOf } from "./block.ts";

/** A list looks up ten million entries in 600 segments, and scans fewer entries than one segment has. */
const ENTRIES_PER_SEGMENT = 16_384;
const ROWS_PER_TRANSACTION = 500;
const NAME = "audit_target_index";

/** Ids of the last blocks of all segments, in ascending order. */
async function readSegments(db: ReadDb): Promise<number[]> {
  return JSON.parse((await readState(db, NAME)) ?? "[]") as number[];
}

/** Writes a segment if there are enough entries for one. Blocks never change, so a repeated run writes the same. */
export async function indexTargets(store: Store, minEntries = ENTRIES_PER_SEGMENT): Promise<boolean> {
  const segments = await readSegments(store.reader);
  const blocks = await blocksOfSegment(store.reader, segments.at(-1) ?? 0, minEntries);
  const segment = blocks.at(-1)?.id;
  if (segment === undefined) return false;
  const rows: AuditTargetTable[] = [];
  for (let start = 0; start < blocks.length; start += BLOCKS_PER_READ) {
    const ids = blocks.slice(start, start + BLOCKS_PER_READ).map(({ id }) => id);
    const read = await store.reader.selectFrom("audit_block").select(["id", "targets"]).where("id", "in", ids).execute();
    for (const { id, targets } of read) {
      // A block has up to two thousand entries.
      await nextTurn();
      rows.push(...postingsOf(segment, Number(id), targets));
    }
  }
  await nextTurn();
  rows.sort((a, b) => a.term - b.term || a.block - b.block);
  for (let start = 0; start < rows.length; start += ROWS_PER_TRANSACTION)
    await insert(store, rows.slice(start, start + ROWS_PER_TRANSACTION));
  await store.transaction(async (db) => {
    const known = await lockState<number[]>(db, NAME, []);
    // Another server may have written the segment too.
    if (!known.includes(segment)) await writeState(db, NAME, [...known, segment]);
  });
  return true;
}

const BLOCKS_PER_READ = 50;

interface CountedBlock {
  readonly id: number;
  readonly count: number;
}

/** The blocks after the last segment until they have enough entries; none if they have too few. */
async function blocksOfSegment(db: ReadDb, after: number, minEntries: number): Promise<CountedBlock[]> {
  const query = db.selectFrom("audit_block").select(["id", "count"]).where("id", ">", after).orderBy("id").limit(minEntries);
  const blocks: CountedBlock[] = [];
  let entries = 0;
  for (const { id, count } of await query.execute()) {
    blocks.push({ id: Number(id), count });
    entries += count;
    if (entries >= minEntries) return blocks;
  }
  return [];
}

export function postingsOf(segment: number, block: number, targets: Uint8Array): AuditTargetTable[] {
  const indexes = Map.groupBy(numbersOf(targets).entries(), ([, term]) => term);
  return [...indexes].map(([term, found]) => ({ segment, term, block, entries: found.map(([index]) => index).join(",") }));
}

async function insert(store: Store, rows: readonly AuditTargetTable[]): Promise<void> {
  await store.transaction(async (db) => {
    const columns = { segment: "bigint", term: "bigint", block: "bigint", entries: "text" } as const;
    // Without a condition, SQLite would read "on conflict" as the end of a join.
    await sql`insert into audit_target (segment, term, block, entries)
      select r.segment, r.term, r.block, r.entries from ${db.dialect.rowsOf(rows, columns)} as r where 1 = 1
      on conflict do nothing`.execute(db);
  });
}

/** Deletes what the index has of a block. */
export async function forgetTargets(db: WriteDb, block: number, targets: Uint8Array): Promise<void> {
  const segments = await readSegments(db);
  const segment = segments.find((last) => last >= block);
  if (segment === undefined) return;
  const terms = [...new Set(numbersOf(targets))].map((term) => ({ term }));
  const listed = db.selectFrom(db.dialect.rowsOf(terms, { term: "bigint" }).as("t")).select("t.term");
  await db.deleteFrom("audit_target").where("segment", "=", segment).where("term", "in", listed).where("block", "=", block).execute();
  // Blocks of an earlier segment may belong to a chain that keeps them longer, so that only an empty segment is forgotten.
  const rest = await db.selectFrom("audit_target").select("term").where("segment", "=", segment).limit(1).execute();
  if (rest.length > 0 || segment === segments.at(-1)) return;
  const known = await lockState<number[]>(db, NAME, []);
  await writeState(
    db,
    NAME,
    known.filter((other) => other !== segment),
  );
}

export interface BlockRange {
  readonly low: number;
  readonly high: number;
  readonly isDescending: boolean;
}

export interface FoundPostings {
  readonly postings: readonly { readonly block: number; readonly entries: string }[];
  /** The last block that was looked at, in the order of the range; undefined for all of the range. */
  readonly horizon: number | undefined;
}

const SEGMENTS_PER_READ = 50;
const BLOCKS_PER_SCAN = 1000;

/** @param limit blocks that are enough */
export async function findTarget(db: ReadDb, term: number, organization: string, range: BlockRange, limit: number): Promise<FoundPostings> {
  const { low, high, isDescending } = range;
  const segments = (await readSegments(db)).filter((segment, at, all) => segment >= low && (all[at - 1] ?? 0) < high);
  const lastIndexed = segments.at(-1) ?? low - 1;
  const tail = () => scanTargets(db, term, organization, { low: Math.max(low, lastIndexed + 1), high, isDescending });
  const found = isDescending ? await tail() : [];
  const ordered = isDescending ? segments.toReversed() : segments;
  for (let start = 0; start < ordered.length; start += SEGMENTS_PER_READ) {
    const some = ordered.slice(start, start + SEGMENTS_PER_READ);
    found.push(...(await lookUp(db, term, some, range)));
    const isEnd = start + SEGMENTS_PER_READ >= ordered.length;
    if (found.length >= limit && !(isEnd && isDescending))
      return { postings: found, horizon: isDescending ? previousOf(segments, some.at(-1)) + 1 : (some.at(-1) as number) };
  }
  if (!isDescending) found.push(...(await tail()));
  return { postings: found, horizon: undefined };
}

/** The last block before a segment. */
function previousOf(segments: readonly number[], segment: number | undefined): number {
  return segments[segments.indexOf(segment ?? 0) - 1] ?? 0;
}

async function lookUp(db: ReadDb, term: number, segments: readonly number[], { low, high }: BlockRange) {
  const rows = await db
    .selectFrom("audit_target")
    .select(["block", "entries"])
    .where("segment", "in", segments)
    .where("term", "=", term)
    .where("block", ">=", low)
    .where("block", "<=", high)
    .execute();
  return rows.map(({ block, entries }) => ({ block: Number(block), entries }));
}

async function scanTargets(db: ReadDb, term: number, organization: string, { low, high }: BlockRange) {
  const found: { block: number; entries: string }[] = [];
  for (let after = low - 1; ; ) {
    const query = db.selectFrom("audit_block").select(["id", "org_uid", "targets"]).where("id", ">", after).where("id", "<=", high);
    const rows = await query.orderBy("id").limit(BLOCKS_PER_SCAN).execute();
    for (const { id, org_uid, targets } of rows) {
      const entries = org_uid === organization ? indexesIn(targets, new Set([term])) : [];
      if (entries.length > 0) found.push({ block: Number(id), entries: entries.join(",") });
    }
    if (rows.length < BLOCKS_PER_SCAN) return found;
    after = Number(rows.at(-1)?.id);
    await nextTurn();
  }
}

/** The entries of a block whose targets have one of the terms. */
export function indexesIn(targets: Uint8Array, terms: ReadonlySet<number>): number[] {
  return numbersOf(targets).flatMap((term, index) => (terms.has(term) ? [index] : []));
}
