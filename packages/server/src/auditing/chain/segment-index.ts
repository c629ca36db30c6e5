/**
 * The index of targets and requests. Once enough blocks are sealed, it writes a segment of their records. A reader looks up a term in the
 * segments, and scans the terms of the blocks after the last one.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { parseHead } from "../../audit/audit-entry.ts";
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { numbersOf, readContents } from "./block.ts";
import { BUCKETS, SegmentBuilder } from "./segment-records.ts";
import { requestTerm } from "./terms.ts";

/** A list looks up ten million entries in 600 segments, and scans fewer entries than one segment has. */
const ENTRIES_PER_SEGMENT = 16_384;
/** Blocks of a server with few writes have one entry each. */
const BLOCKS_PER_SEGMENT = 2048;
const BLOCKS_PER_READ = 16;
const ROWS_PER_SLICE = 32;
const NAME = "audit_segments";

interface State {
  /** Id of the last block that a segment has. */
  readonly block: number;
}

const FIRST: State = { block: 0 };

export async function lastIndexedBlock(db: ReadDb): Promise<number> {
  const value = await readState(db, NAME);
  return value === undefined ? FIRST.block : (JSON.parse(value) as State).block;
}

/** Writes a segment if there are enough blocks for one. */
export async function indexBlocks(store: Store, minEntries = ENTRIES_PER_SEGMENT): Promise<boolean> {
  const { reader } = store;
  const after = await lastIndexedBlock(reader);
  const ids = await blocksOfSegment(reader, after, minEntries);
  const [first, last] = [ids.at(0), ids.at(-1)];
  if (first === undefined || last === undefined) return false;
  const segment = new SegmentBuilder();
  for (let start = 0; start < ids.length; start += BLOCKS_PER_READ) {
    // A block has up to two thousand entries.
    await nextTurn();
    await addBlocks(reader, segment, ids.slice(start, start + BLOCKS_PER_READ));
  }
  return store.transaction(async (db) => {
    // Another server has written the segment meanwhile.
    if ((await lockState(db, NAME, FIRST)).block !== after) return true;
    await insertSegment(db, segment.records(), { first, last });
    await writeState<State>(db, NAME, { block: last });
    return true;
  });
}

/** Ids of the blocks after the last segment until they are enough; none if they are too few. */
async function blocksOfSegment(db: ReadDb, after: number, minEntries: number): Promise<number[]> {
  const query = db.selectFrom("audit_block").select(["id", "count"]).where("id", ">", after).orderBy("id").limit(BLOCKS_PER_SEGMENT);
  const ids: number[] = [];
  let entries = 0;
  for (const { id, count } of await query.execute()) {
    ids.push(Number(id));
    entries += count;
    if (entries >= minEntries) return ids;
  }
  return ids.length === BLOCKS_PER_SEGMENT ? ids : [];
}

async function addBlocks(db: ReadDb, segment: SegmentBuilder, ids: readonly number[]): Promise<void> {
  const query = db.selectFrom("audit_block").select(["id", "targets", "requests", "seqs"]).where("id", "in", ids).orderBy("id");
  for (const { id, targets, requests, seqs } of await query.execute()) {
    const block = Number(id);
    const ofRequests = requests === null ? await readRequests(db, seqs) : numbersOf(requests);
    for (const [index, term] of numbersOf(targets).entries()) segment.add(term, block, index);
    for (const [index, term] of ofRequests.entries()) if (term !== 0) segment.add(term, block, index);
  }
}

/** Terms of the requests of a block of a server before the column. */
async function readRequests(db: ReadDb, seqs: Uint8Array): Promise<number[]> {
  const numbers = numbersOf(seqs);
  const contents = await readContents(db, numbers);
  await nextTurn();
  return numbers.map((seq) => requestIn(contents.get(seq)));
}

/** 0 for an entry that is missing or damaged: nothing finds it. */
function requestIn(content: string | undefined): number {
  try {
    return content === undefined ? 0 : requestTerm(parseHead(content).request_id);
  } catch {
    return 0;
  }
}

async function insertSegment(db: WriteDb, records: readonly Uint8Array[], { first, last }: { first: number; last: number }): Promise<void> {
  const at = (number: number) => db.dialect.placeholder(number);
  const insert = `insert into audit_segment (bucket, segment, first_block, records) values (${[1, 2, 3, 4].map(at).join(", ")})`;
  for (const [bucket, bytes] of records.entries()) {
    if (bucket % ROWS_PER_SLICE === 0) await nextTurn();
    await db.getExecutor().executeQuery(CompiledQuery.raw(insert, [bucket, last, first, bytes]));
  }
}

/** Deletes the segments whose blocks are all deleted. */
export async function forgetSegments(store: Store): Promise<void> {
  const { reader } = store;
  const oldest = await reader.selectFrom("audit_block").select("id").orderBy("id").limit(1).executeTakeFirst();
  const end = oldest === undefined ? (await lastIndexedBlock(reader)) + 1 : Number(oldest.id);
  const expired = reader.selectFrom("audit_segment").select("segment").where("bucket", "=", 0).where("segment", "<", end);
  if ((await expired.limit(1).execute()).length === 0) return;
  await store.transaction(async (db) => {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if (bucket % ROWS_PER_SLICE === 0) await nextTurn();
      await db.deleteFrom("audit_segment").where("bucket", "=", bucket).where("segment", "<", end).execute();
    }
  });
}
