/**
 * Deletes events that are older than the retention with their deliveries, and deliveries of deleted subscriptions: in
 * paced chunks, by one server at a time.
 */
import { sql } from "kysely";
import type { ReadDb, Store } from "../../db/store.ts";
import { type ChunkOptions, deleteInChunks, deleteRows } from "../../jobs/delete-in-chunks.ts";
import { createLease } from "../../jobs/lease.ts";
import { Loop } from "../../jobs/loop.ts";
import { createPace } from "../../jobs/pace.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { dayOf } from "../../outbox/event-context.ts";

export interface PruneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** How long events are kept. */
  readonly retentionMs: number;
}

const MAX_INTERVAL_MS = 3_600_000;
/** The time between two prunings, as a part of the retention: events may stay that much longer than they should. */
const INTERVAL_PART = 0.1;

export function startPruner(options: PruneOptions): AsyncDisposable {
  const { log, retentionMs } = options;
  const stop = new AbortController();
  const intervalMs = Math.min(MAX_INTERVAL_MS, Math.max(100, INTERVAL_PART * retentionMs));
  const claim = createPruningClaim(options, intervalMs);
  const loop = new Loop({
    name: "pruning events",
    log,
    spacingMs: Math.min(intervalMs, 1000),
    async step() {
      if (await claim()) await prune(options, stop.signal);
      return intervalMs;
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await loop[Symbol.asyncDispose]();
    },
  };
}

const NAME = "event_pruning";

/** A lease that is never released: until it ends, a server has pruned a short while ago, or still does. */
function createPruningClaim({ store, clock }: PruneOptions, intervalMs: number): () => Promise<boolean> {
  const lease = createLease({ store, clock, table: "server_state", key: "name", durationMs: intervalMs });
  return () =>
    store.transaction(async (db) => {
      await db
        .insertInto("server_state")
        .values({ name: NAME, value: "" })
        .onConflict((conflict) => conflict.column("name").doNothing())
        .execute();
      return (await lease.claim(db, [NAME])).size > 0;
    });
}

/** How long others have the database after each chunk, as a multiple of the chunk's time. */
const PAUSE_FACTOR = 2;
/** Events and deliveries per transaction. */
const EVENTS = 200;
const DELIVERIES = 300;
const DAY_MS = 24 * 3_600_000;

/** Stops early, without an error, if the signal is aborted. */
export async function prune({ store, clock, retentionMs }: PruneOptions, signal?: AbortSignal): Promise<void> {
  const pace = createPace({ pauseFactor: PAUSE_FACTOR, signal });
  const chunks: ChunkOptions = { store, chunkSize: DELIVERIES, pace };
  const cutoff = new Date(clock.now().getTime() - retentionMs).toISOString();
  try {
    while (await pace(() => deleteOldest(chunks, cutoff)));
    await deleteContexts(chunks, cutoff);
    for (let uid = await nextSubscription(store.reader, ""); uid !== null; uid = await nextSubscription(store.reader, uid)) {
      const deleted = uid;
      await pace(async () => {
        if (!(await exists(store.reader, deleted))) await deleteDeliveries(chunks, "subscription_uid", [deleted]);
      });
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

/**
 * Deletes in the order of positions, so that the events that are kept are those after a position. Skips events that have no position yet.
 * @returns whether there may be more
 */
async function deleteOldest(chunks: ChunkOptions, cutoff: string): Promise<boolean> {
  const { store } = chunks;
  const first = await store.reader
    .selectFrom("outbox")
    .select(["position", "id", "time"])
    .where("position", "is not", null)
    .orderBy("position")
    .limit(EVENTS)
    .execute();
  const young = first.findIndex(({ time }) => time >= cutoff);
  const old = young < 0 ? first : first.slice(0, young);
  const last = old.at(-1)?.position ?? null;
  if (last === null) return false;
  const ids = old.map(({ id }) => id);
  await deleteDeliveries(chunks, "event_id", ids);
  await store.transaction((db) => db.deleteFrom("outbox").where("position", "<=", last).execute());
  return old.length === EVENTS;
}

/** Deletes the contexts of days of which no event is left. Servers may still write events of the last day. */
async function deleteContexts(chunks: ChunkOptions, cutoff: string): Promise<void> {
  const { time } = await chunks.store.reader
    .selectFrom("outbox")
    .select(({ fn }) => fn.min<string | null>("time").as("time"))
    .executeTakeFirstOrThrow();
  const oldest = time === null || time > cutoff ? cutoff : time;
  const condition = sql<boolean>`key < ${dayOf(new Date(Date.parse(oldest) - DAY_MS))}`;
  await deleteInChunks(chunks, (db, limit) => deleteRows(db, { table: "event_context", key: ["id"], condition }, limit));
}

function deleteDeliveries(chunks: ChunkOptions, column: "event_id" | "subscription_uid", values: readonly string[]): Promise<void> {
  const condition = sql<boolean>`${sql.ref(column)} in (select v.value from ${chunks.store.reader.dialect.valuesOf(values)} as v)`;
  const rows = { table: "delivery", key: ["subscription_uid", "position"], condition };
  return deleteInChunks(chunks, (db, limit) => deleteRows(db, rows, limit));
}

/** The first subscription after this one that has deliveries, by one step into an index. */
async function nextSubscription(db: ReadDb, after: string): Promise<string | null> {
  const query = db
    .selectFrom("delivery")
    .select(({ fn }) => fn.min("subscription_uid").as("uid"))
    .where("subscription_uid", ">", after);
  return (await query.executeTakeFirstOrThrow()).uid;
}

async function exists(db: ReadDb, uid: string): Promise<boolean> {
  return (await db.selectFrom("subscription").select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined;
}
