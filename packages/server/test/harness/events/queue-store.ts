/** Stores with subscriptions and events, for tests of queues that send nothing. */
import { randomUUID } from "node:crypto";
import type { Store } from "../../../src/db/store.ts";
import type { Outcome } from "../../../src/events/delivery/outcome.ts";
import { createSlots } from "../../../src/jobs/fair-share.ts";
import { createManualClock } from "../manual-clock.ts";

export const ORG = "a".repeat(40);
export const TEAM = `${ORG}/${"1".repeat(16)}`;
export const OTHER = `${ORG}/${"2".repeat(16)}`;

/** Inserts the rows of a subscription, and of its group unless it exists. */
export async function subscribe(store: Store, parent: string, uid: string, sink = "https://sink.example.com/"): Promise<string> {
  const row = { name: "", create_time: "", update_time: "", body: "{}" };
  await store.transaction(async (db) => {
    await db
      .insertInto("group")
      .values({ ...row, uid: parent, parent: null, verified: 0 })
      .onConflict((conflict) => conflict.column("uid").doNothing())
      .execute();
    await db
      .insertInto("subscription")
      .values({ ...row, uid, parent, sink })
      .execute();
    await db.insertInto("subscription_queue").values({ subscription_uid: uid, failures: 0, pause_reason: "" }).execute();
  });
  return uid;
}

export interface NewEvent {
  readonly group?: string;
  readonly audience?: "customer" | "internal" | "test";
  readonly subject?: string;
  readonly time?: string;
  readonly data?: string;
}

/** Stores an event without telling any server, as one does that is killed right after its commit. */
export async function append(
  store: Store,
  { group = ORG, audience = "customer", subject = "", time = "", data = "{}" }: NewEvent = {},
): Promise<string> {
  const id = randomUUID();
  const row = { id, type: "t", source: "s", subject, group_uid: group, time, audience, body_type: "", extensions: "{}", data };
  await store.transaction((db) => db.insertInto("outbox").values(row).execute());
  return id;
}

export const deliveries = ({ reader }: Store) =>
  reader.selectFrom("delivery").selectAll().orderBy("position").orderBy("subscription_uid").execute();
export const outbox = ({ reader }: Store) => reader.selectFrom("outbox").select(["seq", "id", "position"]).orderBy("seq").execute();
export const queue = ({ reader }: Store, uid: string) =>
  reader.selectFrom("subscription_queue").selectAll().where("subscription_uid", "=", uid).executeTakeFirstOrThrow();

export const capacityOf = (healthy: number, failing: number) => ({
  healthy: createSlots({ slots: healthy, shareOfOne: 1 / 2 }),
  failing: createSlots({ slots: failing, shareOfOne: 1 / 2 }),
});

/** By default of a delivery that was due at the first time of a manual clock. */
export function outcome(uid: string, position: number, changes: Partial<Outcome> = {}): Outcome {
  return {
    subscription_uid: uid,
    position,
    due_time: createManualClock().now().toISOString(),
    state: "delivered",
    next_attempt_time: null,
    attempts: 1,
    first_attempt_time: "2030",
    last_attempt_time: "2030",
    status_code: 200,
    error: "",
    latency_ms: 1,
    exchange: "",
    ...changes,
  };
}
