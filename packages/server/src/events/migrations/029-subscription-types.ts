/** The event types that a subscription receives, as a JSON array; all types if it is empty. */
import type { Migration } from "../../db/migrate.ts";

export const subscriptionTypes: Migration = {
  version: 29,
  name: "subscription-types",
  statements: ({ types: { text } }) => [`alter table subscription add column types ${text} not null default '[]'`],
};
