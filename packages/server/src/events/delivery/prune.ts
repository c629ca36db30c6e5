/** Removes events that are older than they are kept, with their deliveries, and deliveries of subscriptions that are gone: in small pieces with pauses, by one server at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";

export interface PruneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** How long events are kept. */
  readonly retentionMs: number;
}

const MAX_INTERVAL_MS = 3_600_000;
/** A longer one may leave events for so much longer than they are to be kept. */
const INTERVAL_PART = 0.1;

export function startPruner(options: PruneOptions): AsyncDisposable {
  const stop = new AbortController();
  const intervalMs = Math.min(MAX_INTERVAL_MS, Math.max(100, INTERVAL_PART * options.retentionMs));
  const loop = new Loop({
    ...{ name: "pruning events", log: options.log, spacingMs: Math.min(intervalMs, 1000) },
    async step() {
      if (await takeTurn(options, intervalMs)) await prune(options, stop.signal);
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

export async function prune({ store, clock, retentionMs }: PruneOptions, signal?: AbortSignal): Promise<void> {
  const cutoff = new Date(clock.now().getTime() - retentionMs).toISOString();
  const pace = createPace(signal);
  while (await pace(() => removeOldest(store, cutoff, pace)));
  for (let uid = await nextSubscription(store.reader, ""); uid !== null; uid = await nextSubscription(store.reader, uid)) {
    const gone = uid;
    await pace(async () => {
      if (!(await isThere(store.reader, gone))) await removeDeliveries(store, { column: "subscription_uid", values: [gone] }, pace);
      return true;
    });
  }
}

const NAME = "event_pruning";

/** False where a server has pruned not long ago, or does so. */
function takeTurn({ store, clock }: PruneOptions, intervalMs: number): Promise<boolean> {
  return store.transaction(async (db) => {
    await db
      .insertInto("server_state")
      .values({ name: NAME, value: "" })
      .onConflict((conflict) => conflict.column("name").doNothing())
      .execute();
    const now = clock.now();
    // No server that knows the time wrote what is later: a clock was ahead, and has been put right.
    const farthest = new Date(now.getTime() + 2 * MAX_INTERVAL_MS).toISOString();
    // The value is when it is time again.
    const { numUpdatedRows } = await db
      .updateTable("server_state")
      .set({ value: new Date(now.getTime() + intervalMs).toISOString() })
      .where("name", "=", NAME)
      .where(({ eb, or }) => or([eb("value", "<=", now.toISOString()), eb("value", ">", farthest)]))
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  });
}

type Pace = (piece: () => Promise<boolean>) => Promise<boolean>;

/** Of a piece's time: how long everybody else has the database in between. */
const PAUSE_FACTOR = 2;

/** Answers as the piece does; false from when it is to stop. */
function createPace(signal: AbortSignal | undefined): Pace {
  return async (piece) => {
    if (signal?.aborted === true) return false;
    const begun = performance.now();
    const more = await piece();
    await sleep(Math.min(PAUSE_FACTOR * (performance.now() - begun), 1000));
    return more;
  };
}

const EVENTS = 200;
const DELIVERIES = 300;

/** In the order of positions, so that what is kept is what comes after one of them. An event that has none yet is not looked at. */
async function removeOldest(store: Store, cutoff: string, pace: Pace): Promise<boolean> {
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
  if (!(await removeDeliveries(store, { column: "event_id", values: old.map(({ id }) => id) }, pace))) return false;
  await store.transaction((db) => db.deleteFrom("outbox").where("position", "<=", last).execute());
  return old.length === EVENTS;
}

interface Doomed {
  readonly column: "event_id" | "subscription_uid";
  readonly values: readonly string[];
}

/** False where it was stopped before all were gone. */
async function removeDeliveries(store: Store, doomed: Doomed, pace: Pace): Promise<boolean> {
  for (;;) {
    let removed = 0n;
    const isDone = await pace(async () => {
      removed = await store.transaction((db) => removeSome(db, doomed));
      return true;
    });
    if (!isDone || removed < DELIVERIES) return isDone;
  }
}

async function removeSome(db: WriteDb, { column, values }: Doomed): Promise<bigint> {
  const some = db
    .selectFrom("delivery")
    .select(["subscription_uid", "position"])
    .where(column, "in", db.selectFrom(db.dialect.valuesOf(values).as("v")).select("v.value"))
    .limit(DELIVERIES);
  const { numDeletedRows } = await db
    .deleteFrom("delivery")
    .where(({ eb, refTuple }) => eb(refTuple("subscription_uid", "position"), "in", some.$asTuple("subscription_uid", "position")))
    .executeTakeFirstOrThrow();
  return numDeletedRows;
}

/** The first after this one that anything was to be sent to: one step into an index. */
async function nextSubscription(db: ReadDb, after: string): Promise<string | null> {
  const query = db
    .selectFrom("delivery")
    .select(({ fn }) => fn.min("subscription_uid").as("uid"))
    .where("subscription_uid", ">", after);
  return (await query.executeTakeFirstOrThrow()).uid;
}

async function isThere(db: ReadDb, uid: string): Promise<boolean> {
  return (await db.selectFrom("subscription").select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined;
}
