/** Reads the deliveries of a subscription that are due, in small batches. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { eventData } from "../../outbox/event-context.ts";
import type { EventRow } from "../webhook/cloud-event.ts";
import type { Target } from "../webhook/webhook.ts";
import type { Tried } from "./retry.ts";

export interface DueDelivery extends Omit<EventRow, "data">, Tried, Target {
  /** Null where it is long: `readEvent` reads it. */
  readonly data: string | null;
  readonly position: number;
  readonly next_attempt_time: string;
}

/** A position in the order of sending. */
export type SendPosition = Pick<DueDelivery, "next_attempt_time" | "position">;

/** Deliveries per batch: few, so that deleted and paused subscriptions are noticed soon. */
const BATCH_SIZE = 16;
/** Longer bodies are read one by one: the batches of all running queues would fill the memory. */
const SHORT_BYTES = 16 * 1024;

/** Empty where the subscription is deleted. */
export async function readDue(db: ReadDb, uid: string, after: SendPosition | undefined, now: string): Promise<DueDelivery[]> {
  const rows = await db
    .selectFrom("delivery as d")
    .innerJoin("outbox as o", "o.position", "d.position")
    .innerJoin("subscription as s", "s.uid", "d.subscription_uid")
    .select(["d.position", "d.next_attempt_time", "d.attempts", "d.first_attempt_time", "s.sink", "s.parent"])
    .select(["o.id", "o.type", "o.source", "o.subject", "o.group_uid", "o.time", "o.body_type", "o.extensions"])
    .select(sql<string | null>`case when octet_length(o.data) <= ${sql.lit(SHORT_BYTES)} then ${eventData("o")} end`.as("data"))
    .where("d.subscription_uid", "=", uid)
    .where("d.state", "=", "pending")
    .where("d.next_attempt_time", "<=", now)
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("d.next_attempt_time", "d.position"), ">", tuple(after?.next_attempt_time ?? "", after?.position ?? 0)),
      ),
    )
    .orderBy("d.next_attempt_time")
    .orderBy("d.position")
    .limit(BATCH_SIZE)
    .execute();
  return rows as DueDelivery[];
}

/** Rejects where the event was pruned a moment ago. */
export async function readEvent(db: ReadDb, { data, ...delivery }: DueDelivery): Promise<EventRow> {
  if (data !== null) return { ...delivery, data };
  const { position } = delivery;
  const query = db.selectFrom("outbox").select(eventData().as("data")).where("position", "=", position);
  return { ...delivery, ...(await query.executeTakeFirstOrThrow()) };
}
