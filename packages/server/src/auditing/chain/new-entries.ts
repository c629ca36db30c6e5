/**
 * Reads the entries that are committed and not sealed yet. Their numbers grow, but a transaction of PostgreSQL may commit after one with
 * greater numbers. So a number that is missing is looked for until no transaction can have it any more.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { chunksBySize } from "../../lib/chunks-by-size.ts";
import { readContents } from "./entry-contents.ts";

/** A number that is missing among the sealed entries. */
export interface Gap {
  readonly seq: number;
  /** In milliseconds since 1970. */
  readonly seen: number;
  /** Once all transactions with smaller ids have ended, the number stays missing. Absent as long as the gap is young. */
  readonly until?: string | undefined;
}

export interface Progress {
  /** The greatest number of a sealed entry. */
  readonly seq: number;
  readonly gaps: readonly Gap[];
}

export interface NewEntry {
  readonly seq: number;
  readonly content: string;
}

interface NewEntries {
  readonly entries: NewEntry[];
  readonly progress: Progress;
  /** Whether there may be entries that were not read. */
  readonly hasMore: boolean;
}

/** An entry of a batch may have 1.5 MB, so a read ends by bytes, too. Entries of the usual size end it by their number. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A statement that has taken its number gets a transaction id long before. */
const YOUNG_MS = 60_000;

export async function readNewEntries(
  db: ReadDb,
  { seq: last, gaps }: Progress,
  { limit, now }: { readonly limit: number; readonly now: Date },
): Promise<NewEntries> {
  // Before the entries: what has ended by now is visible to the reads that follow.
  const {
    rows: [ids],
  } = db.dialect.transactionIds === undefined ? { rows: [] } : await db.dialect.transactionIds.execute(db);
  const late = await readContents(
    db,
    gaps.map(({ seq }) => seq),
  );
  const { end, hasMore } = await findEnd(db, last, limit);
  const rows = end === last ? [] : await newRows(db, last).select(["seq", "content"]).where("seq", "<=", end).execute();
  const fresh = rows.map(({ seq, content }) => ({ seq: Number(seq), content }));
  const entries = [...[...late].map(([seq, content]) => ({ seq, content })).toSorted((a, b) => a.seq - b.seq), ...fresh];
  if (ids === undefined) return { entries, progress: { seq: fresh.at(-1)?.seq ?? last, gaps: [] }, hasMore };
  const open = gaps.filter(({ seq }) => !late.has(seq)).flatMap((gap) => waiting(gap, ids, now));
  const found = gapsIn(fresh, last).map((seq) => ({ seq, seen: now.getTime() }));
  return { entries, progress: { seq: fresh.at(-1)?.seq ?? last, gaps: [...open, ...found] }, hasMore };
}

function newRows(db: ReadDb, last: number) {
  return db.selectFrom("audit_entry").where("seq", ">", last).orderBy("seq");
}

/** The number of the last entry of a read. */
async function findEnd(db: ReadDb, last: number, limit: number): Promise<{ readonly end: number; readonly hasMore: boolean }> {
  // Neither database reads a long text for its length.
  const rows = await newRows(db, last)
    .select(["seq", sql<number>`octet_length(content)`.as("size")])
    .limit(limit)
    .execute();
  const [first = []] = chunksBySize(rows, { sizeOf: ({ size }) => size, maxSize: MAX_BYTES });
  return { end: Number(first.at(-1)?.seq ?? last), hasMore: first.length < rows.length || rows.length === limit };
}

/** @returns the gap, or nothing if it stays one */
function waiting(gap: Gap, ids: { readonly oldest: string; readonly next: string }, now: Date): Gap[] {
  if (gap.until !== undefined) return BigInt(gap.until) <= BigInt(ids.oldest) ? [] : [gap];
  return [now.getTime() - gap.seen < YOUNG_MS ? gap : { ...gap, until: ids.next }];
}

function gapsIn(entries: readonly NewEntry[], last: number): number[] {
  const gaps: number[] = [];
  let expected = last + 1;
  for (const { seq } of entries) {
    // A sequence that was set ahead, such as by a restore, leaves a range that nobody fills.
    for (let missing = Math.max(expected, seq - MAX_GAP); missing < seq; missing++) gaps.push(missing);
    expected = seq + 1;
  }
  return gaps;
}

const MAX_GAP = 10_000;
