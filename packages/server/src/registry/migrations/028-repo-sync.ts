/** Records for whom a repo is synced from another one, and the sources whose changed fields are still to be copied. */
import type { Migration } from "../../db/migrate.ts";

export const repoSync: Migration = {
  version: 28,
  name: "repo-sync",
  statements: ({ types: { text } }) => [
    `alter table repo add column source_by ${text}`,
    `create table repo_share (
      source_uid ${text} not null primary key, after ${text} not null, request_time ${text} not null, lease_holder ${text}, lease_time ${text})`,
    "drop index repo_by_source",
    "create index repo_by_source_uid on repo (source, uid) where source is not null",
    "create index repo_share_by_request_time on repo_share (request_time, source_uid)",
  ],
};
