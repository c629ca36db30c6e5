/** What feeds of advisories are known to be out of date by. */
import type { Migration } from "../../db/migrate.ts";

export const feeds: Migration = {
  version: 13,
  name: "feeds",
  statements: ({ types: { text, integer, bigint, hotTable } }) => [
    `create table advisory_change (
      group_uid ${text} not null, slot ${integer} not null, changes ${bigint} not null, primary key (group_uid, slot)) ${hotTable}`,
  ],
};
