/**
 * The lease on a mirror names its holder, as leases on other tables do; before, the staged file of the fetch named it.
 * Imports are run in turns of organizations that all servers know; before, each server had turns of its own.
 */
import type { Migration } from "../../db/migrate.ts";

export const mirrorLeasesImportTurns: Migration = {
  version: 21,
  name: "mirror-leases-import-turns",
  statements: ({ types: { text, hotTable } }) => [
    `alter table advisory_mirror_run add column lease_holder ${text}`,
    `create table import_turn (
      org_uid ${text} not null primary key references "group" (uid) on delete cascade, turn_time ${text} not null) ${hotTable}`,
  ],
};
