/** Creates the tables of subscriptions and of the queue of their deliveries. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const deliveries: Migration = {
  version: 3,
  name: "deliveries",
  statements: (dialect) => [
    ...[...positions(dialect), ...subscriptions(dialect), ...queue(dialect)],
    ...[...dialect.vacuumEarly("outbox"), ...dialect.vacuumEarly("delivery")],
  ],
};

/**
 * `seq` is assigned before the commit, so rows of a slow transaction appear behind rows that were already read.
 * `position` is assigned after the commit, by one server at a time, so a reader that has read up to a position has
 * missed nothing.
 */
function positions({ types: { bigint } }: Dialect): string[] {
  return [
    `alter table outbox add column position ${bigint}`,
    "create index outbox_without_position on outbox (seq) where position is null",
    "create unique index outbox_by_position on outbox (position) where position is not null",
    "drop index outbox_by_group_uid_seq",
  ];
}

function subscriptions({ types: { text } }: Dialect): string[] {
  return [
    `create table subscription (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid), name ${text} not null, create_time ${text} not null,
      update_time ${text} not null, sink ${text} not null, body ${text} not null)`,
    "create index subscription_by_parent_uid on subscription (parent, uid)",
    "create index subscription_by_create_time_uid on subscription (create_time, uid)",
    "create index subscription_by_update_time_uid on subscription (update_time, uid)",
  ];
}

function queue({ types: { text, integer, bigint, hotTable } }: Dialect): string[] {
  return [
    `create table subscription_queue (
      subscription_uid ${text} not null primary key references subscription (uid) on delete cascade, next_time ${text}, hold_time ${text},
      failures ${integer} not null, failing_time ${text}, pause_time ${text}, pause_reason ${text} not null, lease_holder ${text}, lease_time ${text}) ${hotTable}`,
    "create index subscription_queue_due on subscription_queue (next_time) where next_time is not null and pause_time is null",
    `create table delivery (
      subscription_uid ${text} not null, position ${bigint} not null, event_id ${text} not null, state ${text} not null, attempts ${integer} not null,
      create_time ${text} not null, next_attempt_time ${text}, first_attempt_time ${text}, last_attempt_time ${text}, status_code ${integer} not null,
      error ${text} not null, latency_ms ${integer} not null, primary key (subscription_uid, position))`,
    "create index delivery_due on delivery (subscription_uid, next_attempt_time, position) where state = 'pending'",
    "create index delivery_failed on delivery (subscription_uid, position) where state = 'failed'",
    "create index delivery_by_event on delivery (event_id)",
  ];
}
