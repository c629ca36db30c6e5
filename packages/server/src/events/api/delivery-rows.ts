/** Reads deliveries with their events, as the API shows them. */
import { create } from "@bufbuild/protobuf";
import { type Delivery, Delivery_State, DeliverySchema } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromText } from "../../lib/clock.ts";

export function selectDeliveries(db: ReadDb, uid: string) {
  return db
    .selectFrom("delivery")
    .leftJoin("outbox", "outbox.position", "delivery.position")
    .select(["delivery.position", "event_id", "type", "subject", "time", "state", "attempts", "last_attempt_time", "next_attempt_time"])
    .select(["status_code", "error", "latency_ms"])
    .where("subscription_uid", "=", uid);
}

type Row = Awaited<ReturnType<ReturnType<typeof selectDeliveries>["execute"]>>[number];

export function deliveryFromRow(row: Row): Delivery {
  return create(DeliverySchema, {
    eventId: row.event_id,
    // Empty where the event was pruned a moment before its delivery.
    eventType: row.type ?? "",
    subject: row.subject ?? "",
    ...(row.time !== null && { eventTime: timestampFromText(row.time) }),
    state: { pending: Delivery_State.PENDING, delivered: Delivery_State.DELIVERED, failed: Delivery_State.FAILED }[row.state],
    attempts: row.attempts,
    ...(row.last_attempt_time !== null && { lastAttemptTime: timestampFromText(row.last_attempt_time) }),
    ...(row.next_attempt_time !== null && { nextAttemptTime: timestampFromText(row.next_attempt_time) }),
    statusCode: row.status_code,
    error: row.error,
    latencyMs: row.latency_ms,
  });
}
