/**
 * Creates, stores and spends refresh tokens. Only a hash of each is stored. Each token can be used once; reusing one
 * revokes its whole family.
 */
import { randomBytes } from "node:crypto";
import type { AuthContext } from "../../access/principal.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { lockIdentity } from "../identities/identity-record.ts";
import type { RefreshTokenTable } from "../tables.ts";
import { decodeCapabilities, encodeCapabilities } from "./capability-encoding.ts";
import type { Narrowing } from "./narrowing.ts";
import type { Profile } from "./subject.ts";

/** A session of the console lasts as long. */
export const LIFETIME_MS = 30 * 24 * 3_600_000;
const MAX_TOKEN_LENGTH = 16 * 1024;

/** Profile and limits of a login. Every access token made with the refresh token has the same. */
export interface RefreshGrant {
  readonly profile: Profile;
  readonly narrowing: Narrowing;
  /** Uid of the organization's identity provider, if the login went through one. */
  readonly provider?: string | undefined;
  /** Uid of the session; undefined in old tokens, like `auth`. */
  readonly loginSession?: string | undefined;
  readonly auth?: AuthContext | undefined;
}

export interface NewRefreshToken {
  readonly token: string;
  readonly expiry: Date;
  readonly row: RefreshTokenTable;
}

export interface RefreshTokenContent {
  readonly identityUid: string;
  readonly audience: readonly string[];
  readonly grant: RefreshGrant;
  readonly now: Date;
  /** The same for all refresh tokens of a session. */
  readonly family: string;
}

export function createRefreshToken({ identityUid, audience, grant, now, family }: RefreshTokenContent): NewRefreshToken {
  const issuedAt = Math.floor(now.getTime() / 1000);
  const expiry = new Date(issuedAt * 1000 + LIFETIME_MS);
  // Clients read only `exp`. The 32 random bytes are the secret.
  const content = {
    exp: expiry.getTime() / 1000,
    iat: issuedAt,
    jti: randomBytes(8).toString("hex"),
    sub: identityUid,
    aud: audience,
    sig: randomBytes(32).toString("base64url"),
  };
  const token = Buffer.from(JSON.stringify(content)).toString("base64");
  const row = {
    token_hash: sha256Hex(token),
    family,
    identity_uid: identityUid,
    grant_json: encodeGrant(grant),
    create_time: now.toISOString(),
    expire_time: expiry.toISOString(),
    spent_time: null,
  };
  return { token, expiry, row };
}

/**
 * The token may have been spent already: the caller must check.
 * @throws UNAUTHENTICATED if it is not a refresh token, is unknown or has expired
 */
export async function findRefreshToken(db: ReadDb, token: string, now: Date): Promise<RefreshTokenTable> {
  assertIsRefreshToken(token);
  const row = await db.selectFrom("refresh_token").selectAll().where("token_hash", "=", sha256Hex(token)).executeTakeFirst();
  if (row === undefined || row.expire_time <= now.toISOString()) throw unauthenticated("the refresh token is unknown or has expired");
  return row;
}

/** @returns false if it was already spent. If two transactions try at the same time, one gets true. */
export async function spendRefreshToken(db: WriteDb, tokenHash: string, now: Date): Promise<boolean> {
  const result = await db
    .updateTable("refresh_token")
    .set({ spent_time: now.toISOString() })
    .where("token_hash", "=", tokenHash)
    .where("spent_time", "is", null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Also deletes the expired tokens of the identity. */
export async function insertRefreshToken(db: WriteDb, { row }: NewRefreshToken): Promise<void> {
  await db.deleteFrom("refresh_token").where("identity_uid", "=", row.identity_uid).where("expire_time", "<=", row.create_time).execute();
  await db.insertInto("refresh_token").values(row).execute();
}

/**
 * Deletes all tokens of a family, and ends its session. Logins and rotations lock the same identity row before they touch any token
 * (identity-record.ts, `recordLastSeen`). So this waits for those that are running, and no token can join the family
 * afterwards.
 */
export async function revokeFamily(db: WriteDb, identityUid: string, family: string): Promise<void> {
  await revokeFamilies(db, identityUid, [family]);
}

/** The same for several families of one identity. */
export async function revokeFamilies(db: WriteDb, identityUid: string, families: readonly string[]): Promise<void> {
  if (families.length === 0) return;
  await lockIdentity(db, identityUid);
  const wanted = () => db.selectFrom(db.dialect.valuesOf(families).as("v")).select("v.value");
  await db.deleteFrom("refresh_token").where("family", "in", wanted()).execute();
  await db.deleteFrom("login_session").where("family", "in", wanted()).execute();
}

/** Ends all sessions of a person, such as after a recovery of the account. Waits as `revokeFamily` does. */
export async function endAllSessions(db: WriteDb, identityUid: string): Promise<void> {
  await lockIdentity(db, identityUid);
  await db.deleteFrom("refresh_token").where("identity_uid", "=", identityUid).execute();
  await db.deleteFrom("login_session").where("identity_uid", "=", identityUid).execute();
}

/**
 * Ends only the sessions that came from logins through the identity providers, and deletes their refresh tokens. Waits as
 * `revokeFamily` does.
 */
export async function revokeLoginsThrough(db: WriteDb, providers: readonly string[], identityUids: readonly string[]): Promise<void> {
  if (identityUids.length === 0) return;
  const wanted = new Set<string | undefined>(providers);
  await db.dialect.forUpdate(db.selectFrom("identity").select("uid").where("uid", "in", identityUids).orderBy("uid")).execute();
  await db
    .deleteFrom("login_session")
    .where("identity_uid", "in", identityUids)
    .where("provider", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(providers).as("v")).select("v.value"))
    .execute();
  const query = db.selectFrom("refresh_token").select(["token_hash", "grant_json"]).where("identity_uid", "in", identityUids);
  const rows = (await query.execute()).filter((row) => wanted.has((JSON.parse(row.grant_json) as Partial<StoredGrant>).provider));
  for (const { token_hash } of rows) await db.deleteFrom("refresh_token").where("token_hash", "=", token_hash).execute();
}

export function grantFromRow(row: RefreshTokenTable): RefreshGrant {
  const { profile, provider, loginSession, auth, scopes, capabilities, within } = JSON.parse(row.grant_json) as StoredGrant;
  const known = { actor: profile.actor, email: profile.email, emailVerified: profile.emailVerified, upstream: profile.upstream };
  const narrowing = { scopes, capabilities: capabilities === undefined ? undefined : decodeCapabilities(capabilities) };
  return {
    profile: known,
    narrowing: { ...narrowing, ...(within !== undefined && { within }) },
    ...(provider !== undefined && { provider }),
    ...(loginSession !== undefined && { loginSession }),
    ...(auth !== undefined && { auth }),
  };
}

interface StoredGrant {
  readonly profile: Profile;
  readonly provider?: string;
  readonly loginSession?: string;
  readonly auth?: AuthContext;
  readonly scopes?: string[];
  readonly capabilities?: string;
  readonly within?: string;
}

function encodeGrant({ profile, provider, loginSession, auth, narrowing: { scopes, capabilities, within } }: RefreshGrant): string {
  const left = { scopes, capabilities: capabilities === undefined ? undefined : encodeCapabilities(capabilities), within };
  return JSON.stringify({ profile, provider, loginSession, auth, ...left });
}

/** Gives a clear error for an access token that is sent by mistake, without a database query. */
function assertIsRefreshToken(token: string): void {
  try {
    const bytes = Buffer.from(token, "base64");
    if (token.length <= MAX_TOKEN_LENGTH && bytes.toString("base64") === token && isRecord(parseStrictJson(bytes.toString("utf8")))) return;
  } catch {
    // Handled below.
  }
  throw unauthenticated("not a refresh token");
}
