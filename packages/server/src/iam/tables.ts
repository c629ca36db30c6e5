/** Declares the tables of iam. Column names equal proto field names. */
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
    login_session: LoginSessionTable;
    saved_filter: SavedFilterTable;
    sign_in_settings: SignInSettingsTable;
    spent_login_token: SpentLoginTokenTable;
    identity_metadata: IdentityMetadataTable;
    identity_provider: IdentityProviderTable;
    external_group_role_mapping: ExternalGroupRoleMappingTable;
    scim_token: ScimTokenTable;
    group_invite: GroupInviteTable;
    account_association: AccountAssociationTable;
    terms_acceptance: TermsAcceptanceTable;
    access_request: AccessRequestTable;
    membership: MembershipTable;
    public_content: PublicContentTable;
    pull_token: PullTokenTable;
    pull_token_secret: PullTokenSecretTable;
    signature_identity: ResourceTable;
    local_account: LocalAccountTable;
    passkey: PasskeyTable;
    recovery_code: RecoveryCodeTable;
    recovery_link: RecoveryLinkTable;
    account_link: AccountLinkTable;
  }
}

export interface GroupTable extends ResourceTable {
  /** 1 if the organization is verified; its name is then unique among verified organizations. */
  verified: number;
  /** Name of the OrgKind, derived from the body by the database. */
  kind: GeneratedAlways<string>;
  /** Name of the OrgStatus, derived from the body by the database. */
  status: GeneratedAlways<string>;
}

export interface IdentityTable extends ResourceTable {
  /** Number of the RelationshipType. */
  relationship_type: number;
  /**
   * The only subject that the identity's claim match accepts, if it is a uid: it may be another identity of this
   * server.
   */
  accepted_uid: string | null;
  /**
   * The beginning of the only issuer whose tokens the identity accepts; null if it accepts none or a pattern. The database
   * generates this column and the next one from the body.
   */
  token_issuer: GeneratedAlways<string | null>;
  /** The start of the only subject that the identity accepts. */
  token_subject: GeneratedAlways<string | null>;
}

export interface RoleTable extends ResourceTable {
  /** Sorts built-in roles before custom ones: `0` or `1`, then the uid. */
  rank: string;
  /** The role's capabilities: lower-case hexadecimal of a number whose bit b stands for capability bit b. */
  capabilities: string;
}

/** A binding has no name; the column is empty. */
export interface RoleBindingTable extends ResourceTable {
  identity_uid: string;
  role_uid: string;
}

/** Holt's signing keys. */
export interface SigningKeyTable {
  kid: string;
  private_jwk: string;
  public_jwk: string;
  create_time: string;
  /** When a newer key replaced it. The key stays published for 24 hours after that. */
  retire_time: string | null;
}

/** A filter of a list that a caller has saved for itself. */
export interface SavedFilterTable {
  identity_uid: string;
  org_uid: string;
  list: string;
  name: string;
  query: string;
}

export interface RefreshTokenTable {
  /** SHA-256 of the token, hexadecimal. The token itself is not stored. */
  token_hash: string;
  /** Shared by all tokens rotated from one login. Reusing a spent token revokes the family. */
  family: string;
  identity_uid: string;
  /** JSON: profile and limits of the login, repeated in its access tokens. */
  grant_json: string;
  create_time: string;
  expire_time: string;
  spent_time: string | null;
}

/** A sign-in of a person, with everything that follows from it. */
export interface LoginSessionTable {
  uid: string;
  identity_uid: string;
  /** The family of its refresh tokens. */
  family: string;
  kind: "program" | "page" | "headless" | "device" | "exchange" | "console";
  /** The name that the program or device gives itself. */
  client: string;
  issuer: string;
  /** Uid of the organization's identity provider; empty for none. */
  provider: string;
  /** Uid of the only organization where the sign-in is valid; empty for all. */
  within: string;
  /** JSON: the methods of authentication (RFC 8176). */
  methods: string;
  create_time: string;
  /** When a token was last issued in the session. */
  last_use_time: string;
  /** When its last token expires. */
  expire_time: string;
  remote_address: string;
  user_agent: string;
}

/** Sign-in settings of an organization: requirements, and its appearance on the pages. The numbers are 0 or 1. */
export interface SignInSettingsTable {
  org_uid: string;
  forbids_local_accounts: number;
  requires_second_factor: number;
  requires_own_provider: number;
  allows_account_links: number;
  display_name: string;
  /** The media type; empty without a logo. */
  logo_type: string;
  /** Base64. */
  logo: string;
}

/** Login tokens that were exchanged, until no server accepts them any more. */
export interface SpentLoginTokenTable {
  /** SHA-256 of the token, hexadecimal. */
  token_hash: string;
  expire_time: string;
}

export interface IdentityMetadataTable {
  uid: string;
  body: string;
  update_time: string;
}

/** An organization's identity provider. The client secret is stored in its column only, not in the body. */
export interface IdentityProviderTable extends ResourceTable {
  issuer: string;
  client_id: string;
  /** Sealed, see secrets/secrets.ts. Empty for none. */
  client_secret: Generated<string>;
  /** Uid of the role that users get at their first login. The role may have been deleted. */
  default_role: string;
  /** Incremented when issuer, client id or groups claim change. */
  version: Generated<number>;
}

/** A mapping has no name; the column is empty. Its parent is an identity provider. */
export interface ExternalGroupRoleMappingTable extends ResourceTable {
  external_group: string;
  role_uid: string;
  /** Uid of the group where the mapping gives the role. */
  scope: string;
}

/** SCIM tokens of identity providers that ever had one. Tokens are stored as SHA-256 hashes, hexadecimal. */
export interface ScimTokenTable {
  idp_uid: string;
  /** 1 if provisioning is enabled. */
  enabled: number;
  /** Changes with every update. */
  etag: string;
  /** Null once the token is revoked. */
  token_hash: string | null;
  /** Null if the token never expires. */
  expire_time: string | null;
  /** Hash of the previous token, while it may still be used. */
  previous_token_hash: string | null;
  previous_expire_time: string | null;
  /** When the tokens were revoked; null while there is a token. */
  revoke_time: string | null;
}

/** An invite has no name; the column is empty. */
export interface GroupInviteTable extends ResourceTable {
  role_uid: string;
  key_id: string;
  expiration_time: string;
  /** SHA-256 of the code, hexadecimal. The code itself is not stored. */
  code_hash: string | null;
}

/** Each group has at most one. Its uid is the group's uid. */
export interface AccountAssociationTable extends ResourceTable {}

export interface TermsAcceptanceTable {
  org_uid: string;
  doc_id: string;
  /** Uid of the identity that accepted. */
  accepted_by: string;
  create_time: string;
}

/** The most recent request of a person for access to an organization. */
export interface AccessRequestTable {
  group_uid: string;
  identity_uid: string;
  email: string;
  create_time: string;
}

/**
 * An organization that a person has joined or left, or whose provider the person has used. Without a row, the person's
 * bindings in the organization are pending.
 */
export interface MembershipTable {
  identity_uid: string;
  org_uid: string;
  /**
   * Bindings of a person who has left have no effect. `signed_in` is pending, but the person has signed in with the
   * organization's provider.
   */
  state: "joined" | "left" | "signed_in";
  /** Email address from the organization's own identity provider; empty for none. */
  email: Generated<string>;
  create_time: string;
  update_time: string;
}

export interface PullTokenTable extends ResourceTable {
  /** Uid of the identity that created or adopted the token. */
  creator: string;
  /** JSON: what the rights of the creator depend on besides its uid, see pull-tokens/pull-token-record.ts. */
  creator_session: Generated<string>;
  /** 1 if the token keeps its rights when its creator loses them. */
  independent: number;
  /** Bit set, lower-case hexadecimal. */
  capabilities: Generated<string>;
  /** JSON: patterns. */
  repositories: string;
  /** When the current password expires. */
  expire_time: string;
  /** When the expiry is announced; null once it was, or for a token that lives too short for that. */
  announce_time: string | null;
  last_use_time: string | null;
  last_use_address: string | null;
}

/** The passwords of pull tokens: the current one and, during the overlap of a rotation, the one before. */
export interface PullTokenSecretTable {
  /** Keyed hash of the password, hexadecimal. The password itself is not stored. */
  password_hash: string;
  /** Names the password in registry tokens that were made with it. */
  id: string;
  pull_token_uid: string;
  /** 0 for a password that was replaced. */
  is_current: number;
  expire_time: string;
}

/** An account of this server's own. Its issuer is this server. */
export interface LocalAccountTable {
  identity_uid: string;
  /** Random, except for the bootstrap owner, where it is the uid of the identity. */
  subject: string;
  /** The `user.id` of WebAuthn: base64url of 32 random bytes, which say nothing about the person. */
  user_handle: string;
  /** As the person wrote it; empty for none. */
  email: string;
  /** The email in the form that is compared, if one can sign in with it and a password. */
  email_key: string | null;
  /** Uid of the organization that invited this email address, and so accepts it. */
  email_within: string | null;
  /** When the person has shown that the address is theirs. */
  email_verified_time: string | null;
  name: string;
  /** Argon2id, in the PHC string format. */
  password_hash: string | null;
  /** Sealed, see secrets/secrets.ts. */
  totp_secret: string | null;
  /** The time step of the last code that was used: no code is accepted twice. */
  totp_step: number | null;
  disabled_time: string | null;
  create_time: string;
  update_time: string;
}

export interface PasskeyTable {
  /** Base64url. */
  credential_id: string;
  uid: string;
  identity_uid: string;
  /** COSE key, base64url. */
  public_key: string;
  /** The highest counter that the authenticator has sent; 0 if it does not count, -1 if the passkey was copied and is refused. */
  sign_count: number;
  /** JSON: transports, as the browser named them. */
  transports: string;
  name: string;
  create_time: string;
  last_use_time: string | null;
}

export interface RecoveryCodeTable {
  /** Keyed hash of the code, hexadecimal. The code itself is not stored. */
  code_hash: string;
  identity_uid: string;
}

/** A link by which a person sets up a way to sign in again. */
export interface RecoveryLinkTable {
  /** SHA-256 of the token, hexadecimal. The token itself is not stored. */
  token_hash: string;
  identity_uid: string;
  /** 1 if the person needs no code of the authenticator app. */
  resets_second_factor: number;
  /** Uid of the identity that made the link; empty for the operator. */
  creator: string;
  expire_time: string;
}

/** Groups and repositories that anybody may read, under their own uids. They have no name; the column is empty. */
export interface PublicContentTable extends ResourceTable {
  /** The capabilities that everybody has there, as in `role`. */
  capabilities: string;
}

/** A person of an organization's identity provider who signs in as a local account, in that organization only. */
export interface AccountLinkTable {
  /** Below the organization. */
  uid: string;
  org_uid: string;
  /** The identity of the local account. */
  identity_uid: string;
  /** The identity that the person has at the provider's issuer. */
  linked_uid: string;
  /** The identity provider that proved the identity. */
  idp_uid: string;
  /** Address or name of the person at the provider. */
  name: string;
  create_time: string;
}
