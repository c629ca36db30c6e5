/** Creates the tables of identity providers, of mappings from their groups to roles, and of SCIM tokens. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const identityProviders: Migration = {
  version: 4,
  name: "identity-providers",
  statements: (dialect) => [...providers(dialect), ...mappings(dialect), ...scimTokens(dialect)],
};

function common({ types: { text } }: Dialect, parent: string): string {
  return `uid ${text} not null primary key, parent ${text} not null references "${parent}" (uid), name ${text} not null, create_time ${text} not null, update_time ${text} not null`;
}

function providers(dialect: Dialect): string[] {
  const { text, integer } = dialect.types;
  return [
    // No reference for the default role: the role may be deleted before the first login uses it.
    `create table identity_provider (
      ${common(dialect, "group")}, issuer ${text} not null, client_id ${text} not null, client_secret ${text} not null default '', default_role ${text} not null,
      version ${integer} not null default 1, body ${text} not null)`,
    index("identity_provider", "name", "uid"),
    index("identity_provider", "create_time", "uid"),
    index("identity_provider", "update_time", "uid"),
    index("identity_provider", "parent", "uid"),
    index("identity_provider", "issuer"),
    index("identity_provider", "default_role"),
  ];
}

function mappings(dialect: Dialect): string[] {
  const { text } = dialect.types;
  return [
    `create table external_group_role_mapping (
      ${common(dialect, "identity_provider")}, external_group ${text} not null, role_uid ${text} not null references "role" (uid), scope ${text} not null,
      body ${text} not null)`,
    "create unique index external_group_role_mapping_once on external_group_role_mapping (parent, external_group, role_uid, scope)",
    index("external_group_role_mapping", "create_time", "uid"),
    index("external_group_role_mapping", "parent", "uid"),
    index("external_group_role_mapping", "role_uid"),
  ];
}

/** One row per identity provider that ever had a token. */
function scimTokens({ types: { text, integer } }: Dialect): string[] {
  return [
    `create table scim_token (
      idp_uid ${text} not null primary key references identity_provider (uid) on delete cascade, enabled ${integer} not null, etag ${text} not null,
      token_hash ${text}, expire_time ${text}, previous_token_hash ${text}, previous_expire_time ${text}, revoke_time ${text})`,
    "create unique index scim_token_by_token_hash on scim_token (token_hash) where token_hash is not null",
    "create unique index scim_token_by_previous_token_hash on scim_token (previous_token_hash) where previous_token_hash is not null",
  ];
}

function index(table: string, ...columns: string[]): string {
  return `create index ${table}_by_${columns.join("_")} on "${table}" (${columns.join(", ")})`;
}
