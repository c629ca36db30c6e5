/** Says how the rows of iam's tables belong to organizations. */
import { sql } from "kysely";
import { isAtOrBelow, isInRoot, ROOT_LENGTH } from "../lib/uid.ts";
import { inOrganization, isIn, type OrganizationTables, owned, related, stays } from "../transfer/organization-tables.ts";
import { clientSecretContext, totpContext } from "./secrets/contexts.ts";

/** Everybody with a binding, a membership or a sign-in in the organization. Their identities belong to no organization. */
const people = (column: string, organization: string) =>
  sql<boolean>`(length(${sql.ref(column)}) = ${sql.lit(ROOT_LENGTH)} and ${isIn(
    column,
    organization,
    { table: "role_binding", column: "identity_uid", owner: "uid" },
    { table: "membership", column: "identity_uid", owner: "org_uid" },
    { table: "access_request", column: "identity_uid", owner: "group_uid" },
    { table: "scim_identity", column: "identity_uid", owner: "idp_uid" },
    { table: "provider_login", column: "identity_uid", owner: "idp_uid" },
    { table: "local_account", column: "identity_uid", owner: "email_within" },
  )})`;
const identities = (column: string) => (organization: string) =>
  sql<boolean>`(${inOrganization(column, organization)} or ${people(column, organization)})`;
/** Parts of an account, which are never added to an account that exists. */
const ofAccount = (more: object = {}) =>
  related((organization) => isIn("identity_uid", organization, { table: "local_account", column: "identity_uid", owner: "email_within" }), {
    onlyWith: { column: "identity_uid", table: "local_account" },
    needsBaseUrl: true,
    ...more,
  });

export const iamTables: OrganizationTables = {
  signing_key: stays("keys of the server"),
  refresh_token: stays("sessions are of the server that issued their tokens"),
  login_session: stays("sessions are of the server that issued their tokens"),
  spent_login_token: stays("sessions are of the server that issued their tokens"),
  recovery_link: stays("links that are good for an hour"),
  group: owned("uid"),
  identity: related(identities("uid"), {
    sharedBy: ["uid"],
    // People do not sign in by these rows. An account that is left out may be all that connects a person with the organization.
    isOwned: ({ uid }, organization) => isInRoot(String(uid)) || isAtOrBelow(String(uid), organization),
  }),
  identity_metadata: related(identities("uid"), { sharedBy: ["uid"], onlyWith: { column: "uid", table: "identity" } }),
  role: owned("uid"),
  role_binding: owned("uid"),
  identity_provider: owned("uid", {
    secret: { column: "client_secret", context: clientSecretContext, without: "", what: "client secrets of identity providers" },
  }),
  external_group_role_mapping: owned("uid"),
  scim_token: owned("idp_uid"),
  group_invite: owned("uid"),
  account_association: owned("uid"),
  terms_acceptance: owned("org_uid"),
  access_request: owned("group_uid"),
  membership: owned("org_uid"),
  sign_in_settings: owned("org_uid"),
  public_content: owned("uid"),
  saved_filter: owned("org_uid"),
  pull_token: owned("uid"),
  pull_token_secret: owned("pull_token_uid", { keyedHash: "passwords of pull tokens" }),
  signature_identity: owned("uid"),
  local_account: owned("email_within", {
    sharedBy: ["identity_uid"],
    needsBaseUrl: true,
    secret: { column: "totp_secret", context: totpContext, what: "accounts with an authenticator app" },
  }),
  passkey: ofAccount(),
  account_link: owned("org_uid", { onlyWith: { column: "identity_uid", table: "local_account" }, needsBaseUrl: true }),
  recovery_code: ofAccount({ keyedHash: "recovery codes of accounts" }),
};
