/** Creates the tables of pull tokens and of their passwords. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const pullTokens: Migration = {
  version: 33,
  name: "pull-tokens",
  statements: (dialect) => [...tables(dialect), ...indexes],
};

function tables({ types: { text, integer } }: Dialect): string[] {
  return [
    `create table pull_token (
      uid ${text} not null primary key, parent ${text} references "group" (uid), name ${text} not null, create_time ${text} not null,
      update_time ${text} not null, creator ${text} not null, creator_session ${text} not null default '{}', independent ${integer} not null,
      capabilities ${text} not null default '0', repositories ${text} not null, expire_time ${text} not null, announce_time ${text},
      last_use_time ${text}, last_use_address ${text}, body ${text} not null)`,
    `create table pull_token_secret (
      password_hash ${text} not null primary key, id ${text} not null,
      pull_token_uid ${text} not null references pull_token (uid) on delete cascade,
      is_current ${integer} not null, expire_time ${text} not null)`,
  ];
}

const indexes = [
  ...["name", "creator", "create_time", "expire_time", "parent"].map(
    (column) => `create index pull_token_by_${column}_uid on pull_token (${column}, uid)`,
  ),
  "create index pull_token_by_announce_time on pull_token (announce_time) where announce_time is not null",
  "create index pull_token_secret_by_pull_token_uid on pull_token_secret (pull_token_uid, id)",
];
