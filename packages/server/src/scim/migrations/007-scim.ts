/** Creates the tables of users and groups that a company's directory provisions. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const scim: Migration = {
  version: 7,
  name: "scim",
  statements: (dialect) => [...users(dialect), ...groups(dialect)],
};

function users({ types: { text, integer } }: Dialect): string[] {
  return [
    `create table scim_user (
      id ${text} not null primary key, idp_uid ${text} not null references identity_provider (uid) on delete cascade, external_id ${text},
      user_name ${text} not null, active ${integer} not null, create_time ${text} not null, update_time ${text} not null, delete_time ${text},
      version ${integer} not null, body ${text} not null)`,
    // A deleted user frees the user name but not the external id, since the server must remember that the person has
    // left.
    "create unique index scim_user_by_user_name on scim_user (idp_uid, user_name) where delete_time is null",
    "create unique index scim_user_by_external_id on scim_user (idp_uid, external_id) where external_id is not null",
    "create index scim_user_by_create_time on scim_user (idp_uid, create_time, id) where delete_time is null",
    // Separate from the users: people may log in before they are provisioned and after they are deleted.
    `create table scim_identity (
      idp_uid ${text} not null references identity_provider (uid) on delete cascade, external_id ${text} not null, identity_uid ${text} not null,
      login_time ${text}, primary key (idp_uid, external_id, identity_uid))`,
    "create index scim_identity_by_identity_uid on scim_identity (identity_uid)",
  ];
}

function groups({ types: { text, integer } }: Dialect): string[] {
  return [
    `create table scim_group (
      id ${text} not null primary key, idp_uid ${text} not null references identity_provider (uid) on delete cascade, external_id ${text},
      display_name ${text} not null, create_time ${text} not null, update_time ${text} not null, version ${integer} not null, body ${text} not null)`,
    "create index scim_group_by_display_name on scim_group (idp_uid, display_name)",
    "create index scim_group_by_external_id on scim_group (idp_uid, external_id) where external_id is not null",
    "create index scim_group_by_create_time on scim_group (idp_uid, create_time, id)",
    `create table scim_group_member (
      group_id ${text} not null references scim_group (id) on delete cascade, user_id ${text} not null references scim_user (id) on delete cascade,
      primary key (group_id, user_id))`,
    "create index scim_group_member_by_user_id on scim_group_member (user_id, group_id)",
  ];
}
