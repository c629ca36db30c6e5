/**
 * Reads the entries that are committed and not sealed yet. Their numbers grow, but a transaction of PostgreSQL may commit after one with
 * greater numbers. So a number that is missing is looked for until no transaction can have it any more.
 */
import type { ReadDb } from "../../db/store.ts";
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

/** A statement that has taken its number gets a transaction id long before. */
const YOUNG_MS = 60_000;

export async function readNewEntries(
  db: ReadDb,
  { seq: last, gaps }: Progress,
  { limit, now }: { readonly limit: number; readonly now: Date },
): Promise<{ entries: NewEntry[]; progress: Progress }> {
  // Before the entries: what has ended by now is visible to the reads that follow.
  const {
    rows: [ids],
  } = db.dialect.transactionIds === undefined ? { rows: [] } : await db.dialect.transactionIds.execute(db);
  const late = await readContents(
    db,
    gaps.map(({ seq }) => seq),
  );
  const rows = await db.selectFrom("audit_entry").select(["seq", "content"]).where("seq", ">", last).orderBy("seq").limit(limit).execute();
  const fresh = rows.map(({ seq, content }) => ({ seq: Number(seq), content }));
  const entries = [...[...late].map(([seq, content]) => ({ seq, content })).toSorted((a, b) => a.seq - b.seq), ...fresh];
  if (ids === undefined) return { entries, progress: { seq: fresh.at(-1)?.seq ?? last, gaps: [] } };
  const open = gaps.filter(({ seq }) => !late.has(seq)).flatMap((gap) => waiting(gap, ids, now));
  const found = gapsIn(fresh, last).map((seq) => ({ seq, seen: now.getTime() }));
  return { entries, progress: { seq: fresh.at(-1)?.seq ?? last, gaps: [...open, ...found] } };
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
