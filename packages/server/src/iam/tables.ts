/** The tables of iam. The migrations make them; column names equal proto field names. */
import type { Generated, GeneratedAlways } from "kysely";
import type { ResourceTable } from "../db/schema.ts";

declare module "../db/schema.ts" {
  interface Schema {
    group: GroupTable;
    identity: IdentityTable;
    role: RoleTable;
    role_binding: RoleBindingTable;
    signing_key: SigningKeyTable;
    refresh_token: RefreshTokenTable;
    identity_metadata: IdentityMetadataTable;
    identity_provider: IdentityProviderTable;
    external_group_role_mapping: ExternalGroupRoleMappingTable;
    scim_token: ScimTokenTable;
    group_invite: GroupInviteTable;
    account_association: AccountAssociationTable;
    terms_acceptance: TermsAcceptanceTable;
    access_request: AccessRequestTable;
  }
}

export interface GroupTable extends ResourceTable {
  /** 1 where the organization is verified: its name is then unique among the verified. */
  verified: number;
}

export interface IdentityTable extends ResourceTable {
  /** Number of RelationshipType. */
  relationship_type: number;
  /** The one subject that its claim match accepts, where that is a uid: it may be another identity of this server. */
  accepted_uid: string | null;
  /** Made by the database of the body, as is the next: the beginning of the one issuer whose tokens it takes; null where it takes none, or by a pattern. */
  token_issuer: GeneratedAlways<string | null>;
  /** Of the one subject. */
  token_subject: GeneratedAlways<string | null>;
}

export interface RoleTable extends ResourceTable {
  /** Orders built-in roles before custom ones: `0` or `1`, then the uid. */
  rank: string;
  /** The role's capabilities as a bit set, lower-case hexadecimal of the number whose bit b stands for capability bit b. */
  capabilities: string;
}

/** A binding has no name of its own; the column is the empty string. */
export interface RoleBindingTable extends ResourceTable {
  identity_uid: string;
  role_uid: string;
}

/** Holt's own signing keys, newest first by create_time. */
export interface SigningKeyTable {
  kid: string;
  private_jwk: string;
  public_jwk: string;
  create_time: string;
  /** When a newer key took over; the key stays published for 24 h after that. */
  retire_time: string | null;
}

export interface RefreshTokenTable {
  /** SHA-256 of the token, hexadecimal: the token itself is not stored. */
  token_hash: string;
  /** All tokens rotated from one login share it; reuse of a spent one revokes the family. */
  family: string;
  identity_uid: string;
  /** JSON: what the login's access tokens carry (actor, email, profile) and may narrow to. */
  grant_json: string;
  create_time: string;
  expire_time: string;
  spent_time: string | null;
}

export interface IdentityMetadataTable {
  uid: string;
  body: string;
  update_time: string;
}

/** An organization's own sign-in. Its secret is nowhere but in its column. */
export interface IdentityProviderTable extends ResourceTable {
  issuer: string;
  client_id: string;
  /** Sealed (auth/secrets.ts); the empty string for none. */
  client_secret: Generated<string>;
  /** Uid of the role that its users begin with; that role may be gone. */
  default_role: string;
  /** Counts the changes of what signing in depends on: issuer, client id, groups claim. */
  version: Generated<number>;
}

/** A mapping has no name of its own; the column is the empty string. Its parent is an identity provider. */
export interface ExternalGroupRoleMappingTable extends ResourceTable {
  external_group: string;
  role_uid: string;
  /** Uid of the group at which the role is given. */
  scope: string;
}

/** What a directory provisions with, of identity providers that ever had a token: hashes only (SHA-256, hexadecimal). */
export interface ScimTokenTable {
  idp_uid: string;
  /** 1 where provisioning is accepted. */
  enabled: number;
  /** Another one after every change. */
  etag: string;
  /** Null once it is revoked. */
  token_hash: string | null;
  /** Null for a token that never expires. */
  expire_time: string | null;
  /** Of the token before this one, while it may still be used. */
  previous_token_hash: string | null;
  previous_expire_time: string | null;
  /** When the tokens were revoked; null where there is a token. */
  revoke_time: string | null;
}

/** An invite has no name of its own; the column is the empty string. */
export interface GroupInviteTable extends ResourceTable {
  role_uid: string;
  key_id: string;
  expiration_time: string;
  /** SHA-256 of the code, hexadecimal: the code itself is not stored. */
  code_hash: string | null;
}

/** Its uid is that of the group it belongs to, of which it is the only one. */
export interface AccountAssociationTable extends ResourceTable {}

export interface TermsAcceptanceTable {
  org_uid: string;
  doc_id: string;
  /** Uid of the identity. */
  accepted_by: string;
  create_time: string;
}

/** The last time that somebody asked to be let into an organization. */
export interface AccessRequestTable {
  group_uid: string;
  identity_uid: string;
  email: string;
  create_time: string;
}
