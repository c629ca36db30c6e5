/** Creates the tables of running sign-ins: in a browser, for a program on another machine, on a device. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const signIn: Migration = {
  version: 6,
  name: "sign-in",
  statements: ({ types: { text, integer } }: Dialect) => [
    `create table sign_in (
      handle_hash ${text} not null primary key, browser_hash ${text} not null, stage ${text} not null, content ${text} not null,
      create_time ${text} not null, expire_time ${text} not null)`,
    "create index sign_in_by_expire_time on sign_in (expire_time)",
    `create table headless_session (
      code ${text} not null primary key, ecdh_public_key ${text} not null, encrypted_idtoken ${text} not null, expire_time ${text} not null)`,
    "create index headless_session_by_expire_time on headless_session (expire_time)",
    `create table device_login (
      device_hash ${text} not null primary key, user_code ${text} not null, client_id ${text} not null, state ${text} not null,
      identity_uid ${text}, login ${text}, poll_time ${text}, interval_seconds ${integer} not null, create_time ${text} not null,
      expire_time ${text} not null)`,
    "create unique index device_login_by_user_code on device_login (user_code)",
    "create index device_login_by_expire_time on device_login (expire_time)",
    `create table provider_login (
      idp_uid ${text} not null references identity_provider (uid) on delete cascade, identity_uid ${text} not null, create_time ${text} not null,
      primary key (idp_uid, identity_uid))`,
    "create index provider_login_by_identity_uid on provider_login (identity_uid)",
  ],
};
