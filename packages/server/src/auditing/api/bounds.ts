/** Bounds a list by the times of its filter and by the page before. */
import { sql } from "kysely";
import { ROW } from "../../db/lookup.ts";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { isTime } from "../../lib/clock.ts";
import { type BlockHead, blockAt } from "../chain/chain-entries.ts";
import type { PageEnd } from "./page-end.ts";

export interface CandidateRange {
  readonly organization: string;
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** The page begins after it, in the order of the list; undefined for the first page. */
  readonly after: PageEnd | undefined;
  readonly isDescending: boolean;
}

/** The part of a chain that the entries of a list are in. */
export interface ChainPart {
  /** First and last number of the entries. */
  readonly first: number;
  readonly last: number;
  /** Ids of the first and the last block. Blocks have ids in the order of their chain, so the numbers bound the ids too. */
  readonly low: number;
  readonly high: number;
  /** Number of the first entry of the first block. */
  readonly begin: number;
  /** The entries from this number on are not before `since`. */
  readonly inner: number;
}

const END = Number.MAX_SAFE_INTEGER;
const ALL: ChainPart = { first: 1, last: END, low: 0, high: END, begin: 1, inner: 1 };

/** Entries are nearly in the order of their times. This bound allows for clocks that differ and for long calls. */
const SLACK_MS = 5 * 60_000;

/** Without times, the first page needs no statement. */
export async function readPart(db: ReadDb, range: CandidateRange): Promise<ChainPart> {
  const parts = await Promise.all([partSince(db, range), partUntil(db, range), partAfter(db, range)]);
  return {
    first: Math.max(...parts.map(({ first = ALL.first }) => first)),
    last: Math.min(...parts.map(({ last = ALL.last }) => last)),
    low: Math.max(...parts.map(({ low = ALL.low }) => low)),
    high: Math.min(...parts.map(({ high = ALL.high }) => high)),
    begin: Math.max(...parts.map(({ begin = ALL.begin }) => begin)),
    inner: Math.max(...parts.map(({ inner = ALL.inner }) => inner)),
  };
}

const blockByTime = prepareEach(
  (edge: "before" | "from") => (db, param: Placeholders<{ organization: string; time: string }>) =>
    sql<BlockHead>`select id, first_number, count from audit_block
      where org_uid = ${param("organization")} and last_time ${sql.raw(edge === "before" ? "<" : ">=")} ${param("time")}
      order by last_time ${sql.raw(edge === "before" ? "desc" : "asc")} limit 1`.compile(db),
  (edge) => edge,
  { capacity: 2, weight: ROW },
);

async function partSince(db: ReadDb, { organization, since }: CandidateRange): Promise<Partial<ChainPart>> {
  if (since === undefined) return {};
  const [before, inside] = await Promise.all([
    blockByTime("before").first(db, { organization, time: shift(since, -SLACK_MS) }),
    blockByTime("from").first(db, { organization, time: shift(since, SLACK_MS) }),
  ]);
  const inner = inside === undefined ? END : lastOf(inside) + 1;
  if (before === undefined) return { inner };
  const first = lastOf(before) + 1;
  return { first, begin: first, low: Number(before.id) + 1, inner };
}

async function partUntil(db: ReadDb, { organization, until }: CandidateRange): Promise<Partial<ChainPart>> {
  if (until === undefined) return {};
  const behind = await blockByTime("from").first(db, { organization, time: shift(until, SLACK_MS) });
  return behind === undefined ? {} : { last: lastOf(behind), high: Number(behind.id) };
}

async function partAfter(db: ReadDb, { organization, after, isDescending }: CandidateRange): Promise<Partial<ChainPart>> {
  if (after === undefined) return {};
  if ("block" in after) return isDescending ? { high: after.block - 1 } : { low: after.block + 1 };
  const number = isDescending ? after.number - 1 : after.number + 1;
  const { id, first_number } = (await blockAt(db, organization, number)) ?? { id: 0, first_number: 1 };
  return isDescending ? { last: number, high: Number(id) } : { first: number, low: Number(id), begin: Number(first_number) };
}

function lastOf({ first_number, count }: BlockHead): number {
  return Number(first_number) + count - 1;
}

/** The texts of years after 9999 and before 1 do not sort by time. */
function shift(time: string, ms: number): string {
  const shifted = new Date(Date.parse(time) + ms);
  return isTime(shifted) ? shifted.toISOString() : time;
}
