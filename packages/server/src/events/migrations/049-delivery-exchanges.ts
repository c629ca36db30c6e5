/** Adds the answer of the last attempt to deliveries. */
import type { Migration } from "../../db/migrate.ts";

export const deliveryExchanges: Migration = {
  version: 49,
  name: "delivery-exchanges",
  statements: ({ types: { text } }) => [`alter table delivery add column exchange ${text} not null default ''`],
};
