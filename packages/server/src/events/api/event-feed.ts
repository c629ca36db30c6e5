/**
 * Reads events in the order of their positions. One server at a time assigns positions, and they become visible in order
 * (delivery/publish.ts): a reader that has seen a position misses no event before it.
 */
import { type Selectable, sql } from "kysely";
import { cutPage } from "../../api/resource/page-bytes.ts";
import type { ReadDb } from "../../db/store.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";
import { eventData } from "../../outbox/event-context.ts";
import type { OutboxTable } from "../../outbox/tables.ts";
import { lastImported, lastPosition } from "../delivery/publish.ts";
import { hasWantedType, type WantedTypes } from "../delivery/type-filter.ts";

/** Events that are scanned for one page, however few of them belong to the group. */
const WINDOW = 5000;
/** Times are nearly in the order of positions. These bounds allow for clocks that differ and for long calls. */
const SLACK_MS = 60_000;
const SLACK_ROWS = 1000;

export interface Feed {
  readonly parent: string;
  /** Undefined for all. */
  readonly types: WantedTypes | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** The position before the first one. */
  readonly after: number;
  /** The last position; undefined for none. */
  readonly end: number | undefined;
  readonly limit: number;
}

export type EventRow = Pick<
  Selectable<OutboxTable>,
  "id" | "type" | "source" | "subject" | "group_uid" | "time" | "body_type" | "extensions" | "data"
>;

export interface FeedPage {
  readonly rows: readonly EventRow[];
  /** The last position that was scanned; undefined if there was none. */
  readonly next: number | undefined;
  readonly hasMore: boolean;
}

export async function readFeed(db: ReadDb, feed: Feed): Promise<FeedPage> {
  const window = await readWindow(db, feed);
  if (window.last === undefined) return { rows: [], next: undefined, hasMore: false };
  const found = await find(db, feed, window.last);
  const { rows, hasMore } = cutPage(found, feed.limit, ({ bytes }) => bytes);
  const positions = rows.map(({ position }) => position);
  const isAll = !hasMore && found.length < feed.limit;
  const next = (isAll ? undefined : positions.at(-1)) ?? window.last;
  return { rows: await readRows(db, positions), next, hasMore: next < window.last || window.isFull };
}

async function readWindow(db: ReadDb, { after, end }: Feed): Promise<{ last: number | undefined; isFull: boolean }> {
  const all = db.selectFrom("outbox").select("position").where("position", ">", after);
  const some = end === undefined ? all : all.where("position", "<=", end);
  const { last, n } = await db
    .selectFrom(some.orderBy("position").limit(WINDOW).as("some"))
    .select(({ fn }) => [fn.max("position").as("last"), fn.countAll().as("n")])
    .executeTakeFirstOrThrow();
  return { last: last ?? undefined, isFull: Number(n) === WINDOW };
}

interface Size {
  readonly position: number;
  readonly bytes: number;
}

async function find(db: ReadDb, { parent, types, since, until, after, limit }: Feed, last: number): Promise<Size[]> {
  const { lower, upper } = rangeAtOrBelow(parent);
  const { unindexed } = db.dialect;
  // Seeks by position only: rows from the index of times would have to be sorted.
  const time = unindexed<string>("time");
  let query = db
    .selectFrom("outbox")
    .select(["position", sql<number>`octet_length(${eventData()})`.as("bytes")])
    .where("position", ">", after)
    .where("position", "<=", last)
    .where("group_uid", ">=", lower)
    .where("group_uid", "<", upper)
    .where("audience", "=", "customer");
  if (types !== undefined) query = query.where(hasWantedType(db, types));
  if (since !== undefined) query = query.where(time, ">=", since);
  if (until !== undefined) query = query.where(time, "<", until);
  const rows = await query.orderBy("position").limit(limit).execute();
  return rows.flatMap(({ position, bytes }) => (position === null ? [] : [{ position, bytes }]));
}

async function readRows(db: ReadDb, positions: readonly number[]): Promise<EventRow[]> {
  if (positions.length === 0) return [];
  const chosen = db.dialect.rowsOf(
    positions.map((position) => ({ position })),
    { position: "bigint" },
  );
  return db
    .selectFrom("outbox")
    .select(["id", "type", "source", "subject", "group_uid", "time", "body_type", "extensions"])
    .select(eventData().as("data"))
    .where("position", "in", db.selectFrom(chosen.as("r")).select("r.position"))
    .orderBy("position")
    .execute();
}

/** The position before the first event at or after the time. @param last the last position that was assigned */
export async function startOf(db: ReadDb, since: string | undefined, last: number): Promise<number> {
  if (since === undefined || (await hasImported(db))) return 0;
  const from = new Date(Date.parse(since) - SLACK_MS).toISOString();
  const near = db.selectFrom("outbox").select("position").where("time", ">=", from).where("position", "is not", null);
  const { first } = await db
    .selectFrom(near.orderBy("time").limit(SLACK_ROWS).as("near"))
    .select(({ fn }) => fn.min("position").as("first"))
    .executeTakeFirstOrThrow();
  return first === null ? last : first - 1;
}

/** The position of the last event before the time; undefined while more such events may come. */
export async function endOf(db: ReadDb, until: string | undefined, now: Date): Promise<number | undefined> {
  if (until === undefined || Date.parse(until) + SLACK_MS >= now.getTime()) return undefined;
  if (await hasImported(db)) return lastPosition(db);
  const to = new Date(Date.parse(until) + SLACK_MS).toISOString();
  const near = db.selectFrom("outbox").select("position").where("time", "<", to).where("position", "is not", null);
  const { end } = await db
    .selectFrom(near.orderBy("time", "desc").limit(SLACK_ROWS).as("near"))
    .select(({ fn }) => fn.max("position").as("end"))
    .executeTakeFirstOrThrow();
  return end ?? 0;
}

/** Whether events of another server are still kept. Their times are not in the order of the positions. */
async function hasImported(db: ReadDb): Promise<boolean> {
  const imported = await lastImported(db);
  return imported > 0 && ((await firstKept(db)) ?? 0) <= imported;
}

export async function firstKept(db: ReadDb): Promise<number | undefined> {
  const row = await db
    .selectFrom("outbox")
    .select("position")
    .where("position", "is not", null)
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();
  return row?.position ?? undefined;
}
