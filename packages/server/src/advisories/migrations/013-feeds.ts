/** Creates the counter of changes by which feeds find out that they are out of date. */
import type { Migration } from "../../db/migrate.ts";

export const feeds: Migration = {
  version: 13,
  name: "feeds",
  statements: ({ types: { text, integer, bigint, hotTable } }) => [
    `create table advisory_change (
      group_uid ${text} not null, slot ${integer} not null, changes ${bigint} not null, primary key (group_uid, slot)) ${hotTable}`,
  ],
};
