/** Creates the tables of local accounts: the accounts, their passkeys, recovery codes and recovery links. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const localAccounts: Migration = {
  version: 40,
  name: "local-accounts",
  statements: (dialect) => [...tables(dialect), ...indexes],
};

function tables({ types: { text, integer, bigint } }: Dialect): string[] {
  const ofAccount = `identity_uid ${text} not null references local_account (identity_uid) on delete cascade`;
  return [
    `create table local_account (
      identity_uid ${text} not null primary key references identity (uid) on delete cascade, subject ${text} not null,
      user_handle ${text} not null, email ${text} not null, email_key ${text}, email_within ${text}, email_verified_time ${text},
      name ${text} not null, password_hash ${text}, totp_secret ${text}, totp_step ${integer}, disabled_time ${text},
      create_time ${text} not null, update_time ${text} not null)`,
    `create table passkey (
      credential_id ${text} not null primary key, uid ${text} not null, ${ofAccount}, public_key ${text} not null,
      sign_count ${bigint} not null, transports ${text} not null, name ${text} not null, create_time ${text} not null, last_use_time ${text})`,
    `create table recovery_code (code_hash ${text} not null primary key, ${ofAccount})`,
    `create table recovery_link (
      token_hash ${text} not null primary key, ${ofAccount}, resets_second_factor ${integer} not null, creator ${text} not null,
      expire_time ${text} not null)`,
  ];
}

const indexes = [
  "create unique index local_account_by_subject on local_account (subject)",
  "create unique index local_account_by_user_handle on local_account (user_handle)",
  "create unique index local_account_by_email_key on local_account (email_key)",
  "create unique index passkey_by_uid on passkey (uid)",
  "create index passkey_by_identity_uid on passkey (identity_uid, uid)",
  "create index recovery_code_by_identity_uid on recovery_code (identity_uid)",
  "create index recovery_link_by_identity_uid on recovery_link (identity_uid)",
  "create index recovery_link_by_expire_time on recovery_link (expire_time)",
];
