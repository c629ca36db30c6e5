/** Creates the tables of invites, access requests, account associations and accepted terms. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const joining: Migration = {
  version: 5,
  name: "joining",
  statements: (dialect) => [...invites(dialect), ...accountAssociations(dialect), ...terms(dialect), ...accessRequests(dialect)],
};

function resource({ types: { text } }: Dialect, name: string, columns: readonly string[], hasUidOfGroup = false): string {
  return `create table ${name} (
    uid ${text} not null primary key${hasUidOfGroup ? ' references "group" (uid)' : ""}, parent ${text} references "group" (uid), name ${text} not null, create_time ${text} not null,
    update_time ${text} not null, ${columns.map((column) => `${column}, `).join("")}body ${text} not null)`;
}

function index(table: string, ...columns: string[]): string {
  return `create index ${table}_by_${columns.join("_")} on ${table} (${columns.join(", ")})`;
}

/**
 * An invite outlives its role, so it has no reference to it. The code is null until the uid, which it contains, is
 * known.
 */
function invites(dialect: Dialect): string[] {
  const { text } = dialect.types;
  const columns = [`role_uid ${text} not null`, `key_id ${text} not null`, `expiration_time ${text} not null`, `code_hash ${text}`];
  return [
    resource(dialect, "group_invite", columns),
    index("group_invite", "create_time", "uid"),
    index("group_invite", "parent", "uid"),
    index("group_invite", "expiration_time", "uid"),
    index("group_invite", "key_id", "uid"),
    index("group_invite", "role_uid", "uid"),
    "create unique index group_invite_code on group_invite (code_hash)",
  ];
}

/** Its uid is the uid of its group. */
function accountAssociations(dialect: Dialect): string[] {
  return [
    resource(dialect, "account_association", [], true),
    ...["name", "create_time", "update_time", "parent"].map((column) => index("account_association", column, "uid")),
  ];
}

function terms({ types: { text } }: Dialect): string[] {
  return [
    `create table terms_acceptance (
      org_uid ${text} not null references "group" (uid), doc_id ${text} not null, accepted_by ${text} not null, create_time ${text} not null,
      primary key (org_uid, doc_id))`,
  ];
}

function accessRequests({ types: { text } }: Dialect): string[] {
  return [
    `create table access_request (
      group_uid ${text} not null references "group" (uid), identity_uid ${text} not null, email ${text} not null, create_time ${text} not null,
      primary key (group_uid, identity_uid))`,
    index("access_request", "identity_uid"),
  ];
}
