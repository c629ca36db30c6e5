/** Creates the tables of deployments, registry settings, and the end of life of repos and tags. */
import type { Migration } from "../../db/migrate.ts";

export const endOfLife: Migration = {
  version: 37,
  name: "end-of-life",
  statements: ({ types: { text, integer } }) => [
    `create table repo_deployment (repo_uid ${text} not null primary key references repo (uid) on delete cascade, body ${text} not null)`,
    `create table repo_end_of_life (uid ${text} not null primary key references repo (uid) on delete cascade, body ${text} not null)`,
    `create table tag_end_of_life (uid ${text} not null primary key references tag (uid) on delete cascade, body ${text} not null)`,
    `create table registry_settings (
      group_uid ${text} not null primary key, unique_tags ${integer} not null, eol_grace_period ${integer} not null)`,
    "create index repo_synced on repo (uid) where source is not null",
  ],
};
