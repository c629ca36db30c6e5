/** Leases on rows of `server_state`: work that one server at a time does for the whole installation. */
import type { Migration } from "../../db/migrate.ts";

export const stateLeases: Migration = {
  version: 20,
  name: "state-leases",
  statements: ({ types: { text } }) => [
    `alter table server_state add column lease_holder ${text}`,
    `alter table server_state add column lease_time ${text}`,
  ],
};
