/** Creates the table of pulls that are counted by hour. */
import type { Migration } from "../../db/migrate.ts";

export const pullCounts: Migration = {
  version: 26,
  name: "pull-counts",
  statements: ({ types: { text, bigint, keyTable } }) => [
    `create table pull_count (
      hour ${text} not null, repo_uid ${text} not null, digest ${text} not null, tag ${text} not null, method ${text} not null,
      identity_uid ${text} not null, repository ${text} not null, claims ${text} not null, count ${bigint} not null,
      primary key (hour, repo_uid, digest, tag, method, identity_uid)) ${keyTable}`,
  ],
};
