/** The tables of sign-in. The migrations make them; column names equal proto field names. */

declare module "../db/schema.ts" {
  interface Schema {
    sign_in: SignInTable;
    headless_session: HeadlessSessionTable;
    device_login: DeviceLoginTable;
    provider_login: ProviderLoginTable;
  }
}

/** A login in a browser that is under way. */
export interface SignInTable {
  /** SHA-256 of the one-time text by which its next step names it, hexadecimal: OAuth's `state`, then what the page's form holds. */
  handle_hash: string;
  /** SHA-256 of the cookie of the browser that began it. */
  browser_hash: string;
  /** `upstream` while the person is at the provider, `confirm` while a page asks. */
  stage: "upstream" | "confirm";
  /** JSON, sealed (auth/secrets.ts). */
  content: string;
  create_time: string;
  expire_time: string;
}

/** A finished login that waits to be fetched by the program whose key it is encrypted for. */
export interface HeadlessSessionTable {
  /** The program's public key, by which it asks. */
  code: string;
  ecdh_public_key: string;
  /** base64. */
  encrypted_idtoken: string;
  expire_time: string;
}

/** A device that waits for a person to sign it in (RFC 8628). */
export interface DeviceLoginTable {
  /** SHA-256 of the device code, hexadecimal. */
  device_hash: string;
  /** Without its hyphen. */
  user_code: string;
  client_id: string;
  state: "pending" | "approved" | "denied";
  identity_uid: string | null;
  /** JSON: what the login gave, once it is approved. */
  login: string | null;
  poll_time: string | null;
  interval_seconds: number;
  create_time: string;
  expire_time: string;
}

/** Who has logged in through an identity provider before: its default role is given at the first time only. */
export interface ProviderLoginTable {
  idp_uid: string;
  identity_uid: string;
  create_time: string;
}
