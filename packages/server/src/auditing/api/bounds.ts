/** Bounds a list by the times of its filter and the page before: first the numbers of entries, then the entries of blocks at the edges. */
import type { RawBuilder } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { type BlockHead, blockAt, numbersOf } from "../chain/block.ts";
import type { PageEnd } from "./page-end.ts";

export interface CandidateRange {
  readonly organization: string;
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** The page begins after it, in the order of the list; undefined for the first page. */
  readonly after: PageEnd | undefined;
  readonly isDescending: boolean;
}

/** A block of the chain. */
export interface Block extends BlockHead {
  readonly last_time: string;
}

/** First and last number of the entries that the list may have. */
export interface Numbers {
  readonly first: number;
  readonly last: number;
  /** The entries from this number on are not before `since`. */
  readonly inner: number;
}

/** Entries are nearly in the order of their times. This bound allows for clocks that differ and for long calls. */
const SLACK_MS = 5 * 60_000;

/** Blocks around the times bound the numbers. */
export async function readNumbers(db: ReadDb, { organization, since, until, after, isDescending }: CandidateRange): Promise<Numbers> {
  let [first, last, inner] = [1, Number.MAX_SAFE_INTEGER, 1];
  const blocks = db.selectFrom("audit_block").select(["first_number", "count"]).where("org_uid", "=", organization).limit(1);
  if (since !== undefined) {
    const before = await blocks.where("last_time", "<", shift(since, -SLACK_MS)).orderBy("last_time", "desc").executeTakeFirst();
    if (before !== undefined) first = Number(before.first_number) + before.count;
    const inside = await blocks.where("last_time", ">=", shift(since, SLACK_MS)).orderBy("last_time").executeTakeFirst();
    inner = inside === undefined ? last : Number(inside.first_number) + inside.count;
  }
  if (until !== undefined) {
    const behind = await blocks.where("last_time", ">=", shift(until, SLACK_MS)).orderBy("last_time").executeTakeFirst();
    if (behind !== undefined) last = Number(behind.first_number) + behind.count - 1;
  }
  if (after !== undefined && "number" in after) {
    if (isDescending) last = Math.min(last, after.number - 1);
    else first = Math.max(first, after.number + 1);
  }
  return { first, last, inner };
}

/** The first and the last block of the entries. Blocks have ids in the order of their chain, so they bound the ids too. */
export interface ChainPart {
  readonly first: BlockHead;
  readonly last: BlockHead;
}

/** @returns undefined if the chain has no such block */
export async function readPart(
  db: ReadDb,
  { organization, after, isDescending }: Pick<CandidateRange, "organization" | "after" | "isDescending">,
  { first, last }: Pick<Numbers, "first" | "last">,
): Promise<ChainPart | undefined> {
  const end = await blockAt(db, organization, last);
  if (end === undefined) return undefined;
  const begin = first === 1 ? undefined : await blockAt(db, organization, first);
  const part = { first: begin === undefined ? { id: 0, first_number: 1, count: 0 } : numeric(begin), last: numeric(end) };
  if (after === undefined || "number" in after) return part;
  const { block } = after;
  if (isDescending) return { ...part, last: { ...part.last, id: Math.min(part.last.id, block - 1) } };
  return { ...part, first: { ...part.first, id: Math.max(part.first.id, block + 1) } };
}

function numeric({ id, first_number, count }: BlockHead): BlockHead {
  return { id: Number(id), first_number: Number(first_number), count };
}

function shift(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}

/** A block and its number of entries. */
export type SizedBlock = Pick<BlockHead, "id" | "count">;

/** A table of the ids, for `from`. */
export function idRows({ dialect }: ReadDb, blocks: readonly Pick<BlockHead, "id">[]): RawBuilder<{ id: number }> {
  return dialect.rowsOf(
    blocks.map(({ id }) => ({ id })),
    { id: "bigint" },
  );
}

/** The lowest and the highest id. PostgreSQL does not know how many ids a table of them has, and would read all blocks. */
export function spanOf(blocks: readonly Pick<BlockHead, "id">[]): { low: number; high: number } {
  const ids = blocks.map(({ id }) => id);
  return { low: Math.min(...ids), high: Math.max(...ids) };
}

/** The entries of blocks at the edges that are within the times, by block. Blocks that are not in the result may be inside. */
export async function indexesWithin(
  db: ReadDb,
  blocks: readonly Block[],
  { since, until }: Pick<CandidateRange, "since" | "until">,
  { inner }: Pick<Numbers, "inner">,
): Promise<Map<number, ReadonlySet<number>>> {
  const edges = blocks.filter(
    ({ first_number, last_time }) => (since !== undefined && first_number < inner) || (until !== undefined && last_time >= until),
  );
  if (edges.length === 0) return new Map();
  const among = db.selectFrom(idRows(db, edges).as("r")).select("r.id");
  const rows = await db.selectFrom("audit_block").select(["id", "times"]).where("id", "in", among).execute();
  // The content of an entry decides about fractions of a millisecond.
  const from = since === undefined ? 0 : Date.parse(since);
  const to = until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until);
  const within = (times: Uint8Array) => new Set(numbersOf(times).flatMap((time, index) => (time >= from && time <= to ? [index] : [])));
  return new Map(rows.flatMap(({ id, times }) => (times === null ? [] : [[Number(id), within(times)] as const])));
}
