/**
 * Sessions of browsers with the console. A session is stored as a family of refresh tokens with one member. Ending the
 * login therefore ends the session. Its secret is in a cookie that no script can read. It is not replaced at each use,
 * because several tabs use it at the same time. No operation of the API accepts it.
 */
import { randomBytes } from "node:crypto";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { RefreshTokenTable } from "../tables.ts";
import { createRefreshToken, type NewRefreshToken, type RefreshTokenContent, revokeFamily } from "./refresh-token.ts";

/** The form of a secret; a cookie with another one is ignored. */
export const SESSION_SECRET = /^[A-Za-z0-9_-]{43}$/;

export function createBrowserSession(content: RefreshTokenContent): NewRefreshToken {
  const { expiry, row } = createRefreshToken(content);
  const token = randomBytes(32).toString("base64url");
  return { token, expiry, row: { ...row, token_hash: hashOf(token) } };
}

/** @returns undefined if the session has ended or expired */
export function findBrowserSession(db: ReadDb, secret: string, now: Date): Promise<RefreshTokenTable | undefined> {
  return db
    .selectFrom("refresh_token")
    .selectAll()
    .where("token_hash", "=", hashOf(secret))
    .where("expire_time", ">", now.toISOString())
    .executeTakeFirst();
}

/** Call it in the transaction that issues a token for the session. @throws UNAUTHENTICATED if it has ended meanwhile */
export async function assertSessionLasts(db: ReadDb, tokenHash: string): Promise<void> {
  const row = await db.selectFrom("refresh_token").select("token_hash").where("token_hash", "=", tokenHash).executeTakeFirst();
  if (row === undefined) throw unauthenticated("the session has ended");
}

export async function endBrowserSession(db: WriteDb, secret: string, now: Date): Promise<void> {
  const row = await findBrowserSession(db, secret, now);
  if (row !== undefined) await revokeFamily(db, row.identity_uid, row.family);
}

/** The prefix keeps the secret from being a refresh token, and the other way round. */
function hashOf(secret: string): string {
  return sha256Hex(`browser-session:${secret}`);
}
