/** The outcome of one attempt, and how outcomes are written to their deliveries. */
import { sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import type { Verdict } from "./retry.ts";

/** The changes that one attempt makes to its delivery. */
export interface Outcome extends Pick<Verdict, "state" | "next_attempt_time"> {
  readonly subscription_uid: string;
  readonly position: number;
  /** When the delivery was due that was attempted. */
  readonly due_time: string;
  readonly attempts: number;
  readonly first_attempt_time: string;
  readonly last_attempt_time: string;
  readonly status_code: number;
  readonly error: string;
  readonly latency_ms: number;
  readonly exchange: string;
}

const COLUMNS = {
  subscription_uid: "text",
  position: "bigint",
  due_time: "text",
  state: "text",
  next_attempt_time: "text",
  attempts: "bigint",
  first_attempt_time: "text",
  last_attempt_time: "text",
  status_code: "bigint",
  error: "text",
  latency_ms: "bigint",
  exchange: "text",
} as const;

/**
 * Also where the lease is lost: an event that was delivered stays delivered. Changes only deliveries that are pending since
 * before the attempt: another server may have been quicker, or a caller may have redelivered the event meanwhile.
 */
export async function appendOutcomes(db: WriteDb, outcomes: readonly Outcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  const update = db
    .updateTable("delivery")
    .from(db.dialect.rowsOf(outcomes, COLUMNS).as("r"))
    .set(({ ref }) => ({
      state: ref("r.state"),
      next_attempt_time: ref("r.next_attempt_time"),
      attempts: ref("r.attempts"),
      first_attempt_time: ref("r.first_attempt_time"),
      last_attempt_time: ref("r.last_attempt_time"),
      status_code: ref("r.status_code"),
      error: ref("r.error"),
      latency_ms: ref("r.latency_ms"),
      exchange: ref("r.exchange"),
    }))
    .whereRef("delivery.subscription_uid", "=", "r.subscription_uid")
    .whereRef("delivery.position", "=", "r.position")
    .whereRef("delivery.next_attempt_time", "=", "r.due_time")
    // By the primary key: to PostgreSQL few deliveries seem to be pending, and it would read all of a backlog.
    .where(sql<boolean>`${db.dialect.frequent("delivery.state")} = 'pending'`);
  await db.append(update.compile());
}
