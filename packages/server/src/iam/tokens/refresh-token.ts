/** Refresh tokens: what they look like, and their rows. Only a hash of each is stored. Each serves once; one that comes back spent ends its whole family. */
import { createHash, randomBytes } from "node:crypto";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import type { RefreshTokenTable } from "../tables.ts";
import { decodeCapabilities, encodeCapabilities } from "./capability-encoding.ts";
import { isRecord } from "./jwk-set.ts";
import type { Narrowing } from "./narrowing.ts";
import type { Profile } from "./subject.ts";

const LIFETIME_MS = 30 * 24 * 3_600_000;
const MAX_LENGTH = 16 * 1024;

/** What the login said and left of the identity's rights; every access token made of the refresh token says and leaves the same. */
export interface RefreshGrant {
  readonly profile: Profile;
  readonly narrowing: Narrowing;
  /** Uid of the organization's identity provider that the login came through; left out for others. */
  readonly provider?: string | undefined;
}

export interface NewRefreshToken {
  readonly token: string;
  readonly expiry: Date;
  readonly row: RefreshTokenTable;
}

/** @param family of the token this one takes the place of; left out for the first of a login */
export function newRefreshToken(
  identityUid: string,
  audience: readonly string[],
  grant: RefreshGrant,
  now: Date,
  family: string = randomBytes(16).toString("hex"),
): NewRefreshToken {
  const issuedAt = Math.floor(now.getTime() / 1000);
  const expiry = new Date(issuedAt * 1000 + LIFETIME_MS);
  // Clients read `exp`, and nothing else. 32 random bytes are the secret.
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
    token_hash: hashOf(token),
    family,
    identity_uid: identityUid,
    grant_json: encodeGrant(grant),
    create_time: now.toISOString(),
    expire_time: expiry.toISOString(),
    spent_time: null,
  };
  return { token, expiry, row };
}

/** @throws UNAUTHENTICATED where the text is no refresh token, or one nobody knows or that has expired. It may be spent. */
export async function findRefreshToken(db: ReadDb, token: string, now: Date): Promise<RefreshTokenTable> {
  assertLooksRight(token);
  const row = await db.selectFrom("refresh_token").selectAll().where("token_hash", "=", hashOf(token)).executeTakeFirst();
  if (row === undefined || row.expire_time <= now.toISOString()) throw unauthenticated("the refresh token has expired or is not known");
  return row;
}

/** @returns whether it was spent by this, and not before. Of two transactions that try at once one gets true. */
export async function spendRefreshToken(db: WriteDb, tokenHash: string, now: Date): Promise<boolean> {
  const result = await db
    .updateTable("refresh_token")
    .set({ spent_time: now.toISOString() })
    .where("token_hash", "=", tokenHash)
    .where("spent_time", "is", null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Clears away what has expired of the identity's. */
export async function insertRefreshToken(db: WriteDb, { row }: NewRefreshToken): Promise<void> {
  await db.deleteFrom("refresh_token").where("identity_uid", "=", row.identity_uid).where("expire_time", "<=", row.create_time).execute();
  await db.insertInto("refresh_token").values(row).execute();
}

/**
 * Waits for a login or a rotation of the identity that is under way, and lets none begin before it is durable: they lock the same row
 * (identity-record.ts, `recordSeen`) before they touch any token. So no token of the family can come after it.
 */
export async function revokeFamily(db: WriteDb, identityUid: string, family: string): Promise<void> {
  await db.dialect.forUpdate(db.selectFrom("identity").select("uid").where("uid", "=", identityUid)).execute();
  await db.deleteFrom("refresh_token").where("family", "=", family).execute();
}

/** Ends what came of the identities' logins through an identity provider, and nothing else of theirs; waits as `revokeFamily` does. */
export async function revokeLoginsThrough(db: WriteDb, provider: string, identityUids: readonly string[]): Promise<void> {
  if (identityUids.length === 0) return;
  await db.dialect.forUpdate(db.selectFrom("identity").select("uid").where("uid", "in", identityUids).orderBy("uid")).execute();
  const query = db.selectFrom("refresh_token").select(["token_hash", "grant_json"]).where("identity_uid", "in", identityUids);
  const rows = (await query.execute()).filter((row) => (JSON.parse(row.grant_json) as Partial<StoredGrant>).provider === provider);
  for (const { token_hash } of rows) await db.deleteFrom("refresh_token").where("token_hash", "=", token_hash).execute();
}

export function grantOf(row: RefreshTokenTable): RefreshGrant {
  const { profile, provider, scopes, capabilities, within } = JSON.parse(row.grant_json) as StoredGrant;
  const known = { actor: profile.actor, email: profile.email, emailVerified: profile.emailVerified, upstream: profile.upstream };
  const narrowing = { scopes, capabilities: capabilities === undefined ? undefined : decodeCapabilities(capabilities) };
  return {
    profile: known,
    narrowing: { ...narrowing, ...(within !== undefined && { within }) },
    ...(provider !== undefined && { provider }),
  };
}

interface StoredGrant {
  readonly profile: Profile;
  readonly provider?: string;
  readonly scopes?: string[];
  readonly capabilities?: string;
  readonly within?: string;
}

function encodeGrant({ profile, provider, narrowing: { scopes, capabilities, within } }: RefreshGrant): string {
  const left = { scopes, capabilities: capabilities === undefined ? undefined : encodeCapabilities(capabilities), within };
  return JSON.stringify({ profile, provider, ...left });
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** So that an access token in the wrong place is told from a stale refresh token without asking the database. */
function assertLooksRight(token: string): void {
  try {
    const bytes = Buffer.from(token, "base64");
    if (token.length <= MAX_LENGTH && bytes.toString("base64") === token && isRecord(parseStrictJson(bytes.toString("utf8")))) return;
  } catch {
    // Said below.
  }
  throw unauthenticated("not a refresh token");
}
