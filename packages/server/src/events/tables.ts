/** Declares the tables of events. Columns have the names of the proto fields. */
import type { Generated } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    subscription: SubscriptionTable;
    subscription_queue: SubscriptionQueueTable;
    delivery: DeliveryTable;
  }
}

/** Subscriptions have no name, so that column is empty. */
export interface SubscriptionTable extends ResourceTable {
  sink: string;
  /** A JSON array of event types; all types if it is empty. */
  types: Generated<string>;
}

/** How long a lease on a row of this table lasts unless it is renewed. */
export const DELIVERY_LEASE_MS = 10_000;

/** The delivery state of a subscription. One server at a time delivers its events, in order. */
export interface SubscriptionQueueTable {
  subscription_uid: string;
  /** Earliest time of the next delivery; null if nothing is pending. */
  next_time: string | null;
  /** End of a pause after failures or at the sink's request; null for none. `next_time` is never before it. */
  hold_time: string | null;
  /** Failed attempts since the last success. */
  failures: number;
  /** Time of the first of these failures. */
  failing_time: string | null;
  /** Set while the subscription is paused until a caller resumes it. */
  pause_time: string | null;
  pause_reason: string;
  /** The server that delivers until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** The delivery of one event to one subscription. It may outlive the subscription for a while. */
export interface DeliveryTable {
  subscription_uid: string;
  /** Position of the event in the outbox. */
  position: number;
  event_id: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  create_time: string;
  /**
   * Time of the next attempt; null unless pending. New deliveries are due immediately. Order to send: this time, then
   * position.
   */
  next_attempt_time: string | null;
  first_attempt_time: string | null;
  last_attempt_time: string | null;
  /** HTTP status of the last response; 0 if there was none. */
  status_code: number;
  /** Error of the last attempt; empty for none. */
  error: string;
  latency_ms: number;
  /** The address and the answer of the last attempt as JSON (webhook/exchange.ts); empty for none. */
  exchange: Generated<string>;
}
