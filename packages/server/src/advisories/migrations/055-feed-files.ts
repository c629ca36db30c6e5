/** Creates the tables of built feeds, whose files are in the blob store. */
import type { Migration } from "../../db/migrate.ts";

export const feedFiles: Migration = {
  version: 55,
  name: "feed-files",
  statements: ({ types: { text, bigint } }) => [
    `create table feed (
      group_uid ${text} not null, format ${text} not null, build ${text} not null, body ${text} not null, use_time ${text} not null,
      primary key (group_uid, format))`,
    "create unique index feed_by_build on feed (build)",
    `create table feed_file (
      build ${text} not null, part ${text} not null, group_uid ${text} not null, digest ${text} not null, size ${bigint} not null,
      keep_time ${text} not null, primary key (build, part))`,
    "create index feed_file_by_digest on feed_file (digest)",
    "create index feed_file_by_group on feed_file (group_uid)",
  ],
};
