/** Gives events their positions and makes a delivery of each for every subscription that hears of it. Sends nothing. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { type NewEvent, subscriptionsOf } from "./match.ts";

/** Of one transaction. */
const MAX_EVENTS = 500;
/** Reached with the last event of a transaction. */
const MAX_DELIVERIES = 500;
/** Of one statement, which on SQLite nobody can interrupt. */
const ROWS = 250;
/** By how much the clocks of two servers may differ and events still go out in their order. */
const MAX_SKEW_MS = 5000;

const NAME = "event_position";

interface State {
  /** The last one given out. */
  readonly position: number;
  /** When the deliveries of the last one were due. */
  readonly time: string;
}

interface NewDelivery {
  subscription_uid: string;
  position: number;
  event_id: string;
}

/**
 * One transaction's worth. Servers take turns, by the lock of a row: each finds what the others have left.
 * @returns whether there may be more
 */
export async function publish(store: Store, clock: Clock): Promise<boolean> {
  const waiting = await store.reader.selectFrom("outbox").select("seq").where("position", "is", null).limit(1).execute();
  if (waiting.length === 0) return false;
  return store.transaction(async (db) => {
    const state = await lockState<State>(db, NAME, { position: 0, time: "" });
    const events = await readNew(db);
    const { taken, deliveries } = numbered(events, await subscriptionsOf(db, events), state.position);
    if (taken.length === 0) return false;
    const time = dueTime(clock.now(), state.time);
    await givePositions(db, taken, state.position);
    await insertDeliveries(db, deliveries, clock.now().toISOString(), time);
    await touchQueues(db, [...new Set(deliveries.map((delivery) => delivery.subscription_uid))].toSorted(), time);
    await writeState<State>(db, NAME, { position: state.position + taken.length, time });
    return taken.length < events.length || events.length === MAX_EVENTS;
  });
}

/** The last one given out; 0 for none. Whoever reads it before reading events has not missed any up to it. */
export async function lastPosition(db: ReadDb): Promise<number> {
  const value = await readState(db, NAME);
  return value === undefined ? 0 : (JSON.parse(value) as State).position;
}

function readNew(db: WriteDb): Promise<NewEvent[]> {
  return db
    .selectFrom("outbox")
    .select(["seq", "id", "group_uid", "subject", "audience"])
    .where("position", "is", null)
    .orderBy("seq")
    .limit(MAX_EVENTS)
    .execute();
}

function numbered(events: readonly NewEvent[], hearersOf: (event: NewEvent) => string[], last: number) {
  const taken: NewEvent[] = [];
  const deliveries: NewDelivery[] = [];
  for (const event of events) {
    if (deliveries.length >= MAX_DELIVERIES) break;
    const position = last + taken.push(event);
    for (const uid of hearersOf(event)) deliveries.push({ subscription_uid: uid, position, event_id: event.id });
  }
  return { taken, deliveries };
}

/** Deliveries are made in the order of this time, so it must not go back with the clock, nor run far ahead of it. */
function dueTime(now: Date, last: string): string {
  const isNear = last !== "" && Date.parse(last) - now.getTime() < MAX_SKEW_MS;
  return isNear && last > now.toISOString() ? last : now.toISOString();
}

async function givePositions(db: WriteDb, events: readonly NewEvent[], last: number): Promise<void> {
  const rows = events.map(({ seq }, index) => ({ seq, position: last + 1 + index }));
  await db
    .updateTable("outbox")
    .from(db.dialect.rowsOf(rows, { seq: "bigint", position: "bigint" }).as("r"))
    .set(({ ref }) => ({ position: ref("r.position") }))
    .whereRef("outbox.seq", "=", "r.seq")
    .execute();
}

async function insertDeliveries(db: WriteDb, deliveries: readonly NewDelivery[], now: string, due: string): Promise<void> {
  for (let start = 0; start < deliveries.length; start += ROWS) {
    if (start > 0) await nextTurn();
    const rows = db.dialect.rowsOf(deliveries.slice(start, start + ROWS), {
      subscription_uid: "text",
      position: "bigint",
      event_id: "text",
    });
    await db
      .insertInto("delivery")
      .columns([
        ...(["subscription_uid", "position", "event_id"] as const),
        ...(["state", "attempts", "create_time", "next_attempt_time", "status_code", "error", "latency_ms"] as const),
      ])
      .expression(
        db
          .selectFrom(rows.as("r"))
          .select(({ val, lit }) => [
            ...(["r.subscription_uid", "r.position", "r.event_id"] as const),
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
  }
}

/**
 * Says that there is something to send. The deliveries were inserted before and the rows are locked, also those that need no change: who releases a
 * queue locks its row first and then looks for what is pending, so one of the two sees what the other did.
 * @param uids sorted: all who lock several queues lock them in this order, or they would wait for each other
 */
async function touchQueues(db: WriteDb, uids: readonly string[], time: string): Promise<void> {
  const { forUpdate, valuesOf } = db.dialect;
  for (let start = 0; start < uids.length; start += ROWS) {
    if (start > 0) await nextTurn();
    const some = db.selectFrom(valuesOf(uids.slice(start, start + ROWS)).as("v")).select("v.value");
    const queues = db.selectFrom("subscription_queue").select("subscription_uid").where("subscription_uid", "in", some);
    await forUpdate(queues.orderBy("subscription_uid")).execute();
    const due = sql<string>`case when hold_time > ${time} then hold_time else ${time} end`;
    await db
      .updateTable("subscription_queue")
      .set({ next_time: due })
      .where("subscription_uid", "in", some)
      .where(({ or, eb }) => or([eb("next_time", "is", null), eb("next_time", ">", due)]))
      .execute();
  }
}
