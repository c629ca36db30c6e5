/** SCIM tokens: what they look like, and whose they are. Only a hash of each is stored. Their calls belong to the service of identity providers. */
import { createHash, randomBytes } from "node:crypto";
import type { ReadDb } from "../db/store.ts";

const TOKEN = /^cgscim_[0-9a-f]{64}$/;

export function newScimToken(): string {
  return `cgscim_${randomBytes(32).toString("hex")}`;
}

export function hashOfScimToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/**
 * The uid of the identity provider that the token provisions for; undefined where it is none of ours, has expired, was revoked or replaced, or where
 * provisioning is switched off. What is looked up is a hash, so how long it takes tells nothing about any token.
 */
export async function verifyScimToken(db: ReadDb, token: string, now: Date): Promise<string | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const hash = hashOfScimToken(token);
  const row = await db
    .selectFrom("scim_token")
    .select(["idp_uid", "enabled", "token_hash", "expire_time", "previous_expire_time"])
    .where((eb) => eb.or([eb("token_hash", "=", hash), eb("previous_token_hash", "=", hash)]))
    .executeTakeFirst();
  if (row === undefined || row.enabled !== 1) return undefined;
  const expireTime = row.token_hash === hash ? row.expire_time : row.previous_expire_time;
  return expireTime !== null && expireTime <= now.toISOString() ? undefined : row.idp_uid;
}
