/** The state of a subscription's deliveries. */
import { create } from "@bufbuild/protobuf";
import { type SubscriptionStatus, SubscriptionStatus_State, SubscriptionStatusSchema } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import type { Selectable } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import type { DeliveryTable, SubscriptionQueueTable } from "../tables.ts";

/** Counting stops here. */
const MAX_COUNT = 10_000;

type Queue = Selectable<SubscriptionQueueTable>;

/** @throws NOT_FOUND if the subscription does not exist */
export async function readQueue(db: ReadDb, uid: string): Promise<Queue> {
  const queue = await db.selectFrom("subscription_queue").selectAll().where("subscription_uid", "=", uid).executeTakeFirst();
  if (queue === undefined) throw notFound("Subscription", uid);
  return queue;
}

/** @throws NOT_FOUND if the subscription does not exist */
export async function subscriptionStatus(db: ReadDb, uid: string): Promise<SubscriptionStatus> {
  const queue = await readQueue(db, uid);
  const { pause_time: pauseTime, pause_reason: pauseReason, failing_time: failingTime } = queue;
  const nextTime = pauseTime === null ? queue.next_time : null;
  return create(SubscriptionStatusSchema, {
    uid,
    state: stateOf(queue),
    pauseReason,
    ...(pauseTime !== null && { pauseTime: timestampFromText(pauseTime) }),
    ...(failingTime !== null && { failingSince: timestampFromText(failingTime) }),
    ...(nextTime !== null && { nextAttemptTime: timestampFromText(nextTime) }),
    pendingCount: await count(db, uid, "pending"),
    failedCount: await count(db, uid, "failed"),
  });
}

function stateOf({ pause_time, failures }: Queue): SubscriptionStatus_State {
  if (pause_time !== null) return SubscriptionStatus_State.PAUSED;
  return failures > 0 ? SubscriptionStatus_State.RETRYING : SubscriptionStatus_State.ACTIVE;
}

async function count(db: ReadDb, uid: string, state: DeliveryTable["state"]): Promise<bigint> {
  const some = db.selectFrom("delivery").select("position").where("subscription_uid", "=", uid).where("state", "=", state).limit(MAX_COUNT);
  const { n } = await db
    .selectFrom(some.as("some"))
    .select(({ fn }) => fn.countAll().as("n"))
    .executeTakeFirstOrThrow();
  return BigInt(n);
}
