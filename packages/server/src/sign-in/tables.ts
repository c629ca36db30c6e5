/** Declares the tables of sign-in. Column names equal proto field names. */

declare module "../db/schema.ts" {
  interface Schema {
    sign_in: SignInTable;
    headless_session: HeadlessSessionTable;
    device_login: DeviceLoginTable;
    provider_login: ProviderLoginTable;
  }
}

/** A step of a running browser sign-in. */
export interface SignInTable {
  /** SHA-256 of the step's one-time handle, hexadecimal: first OAuth's `state`, then a field of the page's form. */
  handle_hash: string;
  /**
   * SHA-256 of the cookie of the browser that began the sign-in, hexadecimal. A code has that of its PKCE challenge instead, a link
   * that of the empty text.
   */
  browser_hash: string;
  /**
   * `upstream` while the person is at the provider, `confirm` while a page asks for confirmation, `offer` while a page
   * offers memberships, `account` on the pages of local accounts, `code` while the console has a code, `link` while a
   * sign-in link waits.
   */
  stage: "upstream" | "confirm" | "offer" | "account" | "code" | "link";
  /** JSON, sealed, see iam/secrets/secrets.ts. */
  content: string;
  create_time: string;
  expire_time: string;
}

/** A finished login, encrypted for the program that will fetch it. */
export interface HeadlessSessionTable {
  /** The program's public key, by which the program fetches the login. */
  code: string;
  ecdh_public_key: string;
  /** Base64. */
  encrypted_idtoken: string;
  expire_time: string;
}

/** A device that waits for a user to approve its login (RFC 8628). */
export interface DeviceLoginTable {
  /** SHA-256 of the device code, hexadecimal. */
  device_hash: string;
  /** The user code without its hyphen. */
  user_code: string;
  client_id: string;
  state: "pending" | "approved" | "denied";
  identity_uid: string | null;
  /** JSON: the `StoredLogin`, once approved. */
  login: string | null;
  poll_time: string | null;
  interval_seconds: number;
  create_time: string;
  expire_time: string;
}

/** Identities that have logged in through an identity provider: its default role is given only at the first login. */
export interface ProviderLoginTable {
  idp_uid: string;
  identity_uid: string;
  create_time: string;
}
