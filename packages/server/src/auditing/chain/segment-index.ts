/**
 * The index of targets and requests. Once enough blocks are sealed, it writes a segment of their records, and it merges segments once they
 * are enough. A reader looks up a term in the segments, and scans the terms of the blocks after the last one.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { parseHead } from "../../audit/audit-entry.ts";
import type { AuditSegmentTable } from "../../audit/tables.ts";
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { numbersOf } from "./block.ts";
import { readContents } from "./entry-contents.ts";
import { BUCKETS, MERGED_BUCKETS, mergeBucket, SegmentBuilder } from "./segment-records.ts";
import { requestTerm } from "./terms.ts";

/** A list scans fewer entries than one segment has. */
const ENTRIES_PER_SEGMENT = 16_384;
/** A list looks up ten million entries in 40 merged segments and at most 15 others. */
const SEGMENTS_PER_MERGE = 16;
const BUCKETS_PER_MERGE = 4;
/** Blocks of a server with few writes have one entry each. */
const BLOCKS_PER_SEGMENT = 2048;
const BLOCKS_PER_READ = 16;
const ROWS_PER_SLICE = 32;
const NAME = "audit_segments";
const BUCKET_RANGES = [
  { from: 0, count: BUCKETS },
  { from: BUCKETS, count: MERGED_BUCKETS },
];

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
  const first = ids.at(0);
  const last = ids.at(-1);
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
    await insertSegments(
      db,
      segment.records().map((records, bucket) => ({ bucket, segment: last, first_block: first, records })),
    );
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

async function insertSegments(db: WriteDb, rows: readonly AuditSegmentTable[]): Promise<void> {
  const at = (number: number) => db.dialect.placeholder(number);
  const insert = `insert into audit_segment (bucket, segment, first_block, records) values (${[1, 2, 3, 4].map(at).join(", ")})`;
  for (const { bucket, segment, first_block, records } of rows) {
    if (bucket % ROWS_PER_SLICE === 0) await nextTurn();
    await db.getExecutor().executeQuery(CompiledQuery.raw(insert, [bucket, segment, first_block, records]));
  }
}

/**
 * Merges the oldest segments once there are enough, one bucket after the other, so that no transaction is long. A bucket is
 * either merged or not, and a reader looks at both. The next server finishes the work that a stopped one left.
 */
export async function mergeSegments(store: Store, minSegments = SEGMENTS_PER_MERGE): Promise<boolean> {
  // The last bucket is merged last.
  const waiting = await oldestSegments(store.reader, BUCKETS - 1, minSegments)
    .select("segment")
    .execute();
  if (waiting.length < minSegments) return false;
  for (let bucket = 0; bucket < BUCKETS; bucket += BUCKETS_PER_MERGE) {
    await store.transaction(async (db) => {
      await lockState(db, NAME, FIRST);
      for (let at = bucket; at < bucket + BUCKETS_PER_MERGE; at++) await mergeOldest(db, at, minSegments);
    });
  }
  return true;
}

function oldestSegments(db: ReadDb, bucket: number, limit: number) {
  return db.selectFrom("audit_segment").where("bucket", "=", bucket).orderBy("segment").limit(limit);
}

async function mergeOldest(db: WriteDb, bucket: number, count: number): Promise<void> {
  const segments = await oldestSegments(db, bucket, count).selectAll().execute();
  const last = segments.at(-1);
  if (segments.length < count || last === undefined) return;
  await db.deleteFrom("audit_segment").where("bucket", "=", bucket).where("segment", "<=", last.segment).execute();
  await insertSegments(db, mergeBucket(bucket, segments));
}

/** Deletes the segments whose blocks are all deleted. */
export async function forgetSegments(store: Store): Promise<void> {
  const { reader } = store;
  const oldest = await reader.selectFrom("audit_block").select("id").orderBy("id").limit(1).executeTakeFirst();
  const end = oldest === undefined ? (await lastIndexedBlock(reader)) + 1 : Number(oldest.id);
  for (const { from, count } of BUCKET_RANGES) {
    // The first bucket is deleted last.
    const expired = reader.selectFrom("audit_segment").select("segment").where("bucket", "=", from).where("segment", "<", end);
    if ((await expired.limit(1).execute()).length === 0) continue;
    for (let bucket = from + count - BUCKETS; bucket >= from; bucket -= BUCKETS) await forgetBuckets(store, bucket, end);
  }
}

async function forgetBuckets(store: Store, from: number, end: number): Promise<void> {
  await store.transaction(async (db) => {
    for (let bucket = from + BUCKETS - 1; bucket >= from; bucket--) {
      if (bucket % ROWS_PER_SLICE === 0) await nextTurn();
      await db.deleteFrom("audit_segment").where("bucket", "=", bucket).where("segment", "<", end).execute();
    }
  });
}
