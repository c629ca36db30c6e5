/** Says how the rows of the tables of events belong to organizations. */
import { type OrganizationTables, owned } from "../transfer/organization-tables.ts";

export const eventsTables: OrganizationTables = {
  subscription: owned("uid"),
  subscription_queue: owned("subscription_uid"),
  delivery: owned("subscription_uid", { position: "position" }),
};
