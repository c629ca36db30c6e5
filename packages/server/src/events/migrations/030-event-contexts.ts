/** Creates the table of what the data of many events have in common. */
import type { Migration } from "../../db/migrate.ts";

export const eventContexts: Migration = {
  version: 30,
  name: "event-contexts",
  statements: ({ types: { text, sequence, bigint } }) => [
    `create table event_context (id ${sequence}, key ${text} not null unique, content ${text} not null)`,
    `alter table outbox add column context_id ${bigint}`,
  ],
};
