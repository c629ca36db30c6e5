/** Gives events their positions and inserts a delivery for each subscription that receives them. Sends nothing. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { lockState, readState, setState, tryLockState, writeState } from "../../db/server-state.ts";
import { notifyServers } from "../../db/servers.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { type NewEvent, subscriptionsOf } from "./match.ts";

const MAX_EVENTS_PER_TRANSACTION = 500;
/** A transaction ends with the event that reaches this number of deliveries. */
const DELIVERIES_PER_TRANSACTION = 500;
/** On SQLite a statement cannot be interrupted. */
const ROWS_PER_STATEMENT = 250;
/** The largest difference between the clocks of two servers that keeps events in order. */
const MAX_SKEW_MS = 5000;

const NAME = "event_position";
const IMPORTED = "event_imported_position";

interface State {
  /** The position of the last event. */
  readonly position: number;
  /** When the deliveries of the last event were due. */
  readonly time: string;
}

interface NewDelivery {
  subscription_uid: string;
  position: number;
  event_id: string;
}

/**
 * - done: all events that were there are published;
 * - more: there may be more;
 * - busy: another server publishes, and may not see the newest events. A later attempt finds those that it left.
 */
export type PublishOutcome = "done" | "more" | "busy";

/**
 * Publishes one transaction of events. A lock on a row lets one server publish at a time. Others do not wait for it, as each
 * would keep a connection.
 * @param prefix of every type that this server emits
 */
export async function publish(store: Store, clock: Clock, prefix: string): Promise<PublishOutcome> {
  const waiting = await store.reader.selectFrom("outbox").select("seq").where("position", "is", null).limit(1).execute();
  if (waiting.length === 0) return "done";
  return store.transaction(async (db) => {
    const state = await tryLockState<State>(db, NAME, { position: 0, time: "" });
    if (state === undefined) return "busy";
    const events = await readNew(db);
    const { taken, deliveries } = assignPositions(events, await subscriptionsOf(db, events, prefix), state.position);
    if (taken.length === 0) return "done";
    const time = dueTime(clock.now(), state.time);
    await storePositions(db, taken, state.position);
    await insertDeliveries(db, deliveries, clock.now().toISOString(), time);
    await touchQueues(db, [...new Set(deliveries.map((delivery) => delivery.subscription_uid))].toSorted(), time);
    await writeState<State>(db, NAME, { position: state.position + taken.length, time });
    if (deliveries.length > 0) await notifyServers(db);
    return taken.length < events.length || events.length === MAX_EVENTS_PER_TRANSACTION ? "more" : "done";
  });
}

/** The position of the last published event; 0 for none. A reader that reads it before the events misses none up to it. */
export async function lastPosition(db: ReadDb): Promise<number> {
  const value = await readState(db, NAME);
  return value === undefined ? 0 : (JSON.parse(value) as State).position;
}

/**
 * Makes room for published events of another server, which keep their order and their deliveries. Other servers publish
 * nothing until the transaction ends.
 * @returns the number to add to their positions
 */
export async function reservePositions(db: WriteDb, { first, last }: { readonly first: number; readonly last: number }): Promise<number> {
  const state = await lockState<State>(db, NAME, { position: 0, time: "" });
  const shift = Math.max(0, state.position + 1 - first);
  await writeState<State>(db, NAME, { ...state, position: last + shift });
  await setState(db, IMPORTED, String(last + shift));
  return shift;
}

/**
 * The last position of events that came from another server; 0 for none. Up to it, events are not in the order of their
 * times.
 */
export async function lastImported(db: ReadDb): Promise<number> {
  return Number((await readState(db, IMPORTED)) ?? 0);
}

function readNew(db: WriteDb): Promise<NewEvent[]> {
  return db
    .selectFrom("outbox")
    .select(["seq", "id", "type", "group_uid", "subject", "audience"])
    .where("position", "is", null)
    .orderBy("seq")
    .limit(MAX_EVENTS_PER_TRANSACTION)
    .execute();
}

function assignPositions(events: readonly NewEvent[], receiversOf: (event: NewEvent) => string[], last: number) {
  const taken: NewEvent[] = [];
  const deliveries: NewDelivery[] = [];
  for (const event of events) {
    if (deliveries.length >= DELIVERIES_PER_TRANSACTION) break;
    const position = last + taken.push(event);
    for (const uid of receiversOf(event)) deliveries.push({ subscription_uid: uid, position, event_id: event.id });
  }
  return { taken, deliveries };
}

/** Deliveries are sent in the order of this time, so it must not go back with the clock, nor run far ahead of it. */
function dueTime(now: Date, last: string): string {
  const isNear = last !== "" && Date.parse(last) - now.getTime() < MAX_SKEW_MS;
  return isNear && last > now.toISOString() ? last : now.toISOString();
}

async function storePositions(db: WriteDb, events: readonly NewEvent[], last: number): Promise<void> {
  const rows = events.map(({ seq }, index) => ({ seq, position: last + 1 + index }));
  await db
    .updateTable("outbox")
    .from(db.dialect.rowsOf(rows, { seq: "bigint", position: "bigint" }).as("r"))
    .set(({ ref }) => ({ position: ref("r.position") }))
    .whereRef("outbox.seq", "=", "r.seq")
    .execute();
}

/** Runs the statement for each batch of the items. Other work of this process takes its turn in between. */
async function inBatches<Item>(items: readonly Item[], run: (batch: readonly Item[]) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
    if (start > 0) await nextTurn();
    await run(items.slice(start, start + ROWS_PER_STATEMENT));
  }
}

async function insertDeliveries(db: WriteDb, deliveries: readonly NewDelivery[], now: string, due: string): Promise<void> {
  await inBatches(deliveries, async (batch) => {
    const rows = db.dialect.rowsOf(batch, { subscription_uid: "text", position: "bigint", event_id: "text" });
    await db
      .insertInto("delivery")
      .columns([
        "subscription_uid",
        "position",
        "event_id",
        "state",
        "attempts",
        "create_time",
        "next_attempt_time",
        "status_code",
        "error",
        "latency_ms",
      ])
      .expression(
        db
          .selectFrom(rows.as("r"))
          .select(({ val, lit }) => [
            "r.subscription_uid",
            "r.position",
            "r.event_id",
            sql.lit("pending").as("state"),
            lit(0).as("attempts"),
            val(now).as("create_time"),
            val(due).as("next_attempt_time"),
            lit(0).as("status_code"),
            sql.lit("").as("error"),
            lit(0).as("latency_ms"),
          ]),
      )
      .execute();
  });
}

/**
 * Makes queues due. Their deliveries were inserted before, and every row is locked, also rows that need no change. A
 * release locks the row of a queue first and reads its pending deliveries afterwards. So one of the two transactions sees
 * what the other did.
 * @param uids sorted: every transaction that locks several queues locks them in this order, to avoid deadlocks
 */
async function touchQueues(db: WriteDb, uids: readonly string[], time: string): Promise<void> {
  const { forUpdate, valuesOf } = db.dialect;
  await inBatches(uids, async (batch) => {
    const some = db.selectFrom(valuesOf(batch).as("v")).select("v.value");
    const queues = db.selectFrom("subscription_queue").select("subscription_uid").where("subscription_uid", "in", some);
    await forUpdate(queues.orderBy("subscription_uid")).execute();
    const due = sql<string>`case when hold_time > ${time} then hold_time else ${time} end`;
    await db
      .updateTable("subscription_queue")
      .set({ next_time: due })
      .where("subscription_uid", "in", some)
      .where(({ or, eb }) => or([eb("next_time", "is", null), eb("next_time", ">", due)]))
      .execute();
  });
}
