/** The tables of events. The migrations make them; column names equal proto field names. */
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    subscription: SubscriptionTable;
    subscription_queue: SubscriptionQueueTable;
    delivery: DeliveryTable;
  }
}

/** A subscription has no name of its own; the column is the empty string. */
export interface SubscriptionTable extends ResourceTable {
  sink: string;
}

/** How deliveries to a subscription are doing, and who makes them: one server at a time, in the order of events. */
export interface SubscriptionQueueTable {
  subscription_uid: string;
  /** When there is something to send, at the earliest; null where nothing is pending. */
  next_time: string | null;
  /** Until when nothing is sent because the sink is in trouble, or asked for it; null for none. No `next_time` is set before it. */
  hold_time: string | null;
  /** Attempts that failed since the last one that succeeded. */
  failures: number;
  /** When the first of those was. */
  failing_time: string | null;
  /** Set while nothing is sent until somebody resumes it. */
  pause_time: string | null;
  pause_reason: string;
  /** The server that sends until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** One event on its way to one subscription. It may outlive the subscription for a while. */
export interface DeliveryTable {
  subscription_uid: string;
  /** Of the event in the outbox. */
  position: number;
  event_id: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  create_time: string;
  /** When a pending one is to be tried; null otherwise. New ones are due at once, so that the order of this time, then of positions, is the order to send in. */
  next_attempt_time: string | null;
  first_attempt_time: string | null;
  last_attempt_time: string | null;
  /** HTTP status of the last answer; 0 where there was none. */
  status_code: number;
  /** What was wrong with the last attempt; empty where nothing was. */
  error: string;
  latency_ms: number;
}
