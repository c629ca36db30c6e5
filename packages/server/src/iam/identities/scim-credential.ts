/** SCIM tokens: what they look like, and whose they are. Only a hash of each is stored. Their calls belong to the service of identity providers. */
import { createHash, randomBytes } from "node:crypto";
import type { ReadDb } from "../../db/store.ts";

const TOKEN = /^cgscim_[0-9a-f]{64}$/;

export function newScimToken(): string {
  return `cgscim_${randomBytes(32).toString("hex")}`;
}

export function hashOfScimToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** What a token is good for. */
export interface ScimCredential {
  /** Of the identity provider whose directory provisions with it. */
  readonly idpUid: string;
  /** False while provisioning is switched off: nothing must be accepted then. */
  readonly isEnabled: boolean;
}

/**
 * Undefined where the token is none of ours, has expired, was revoked or replaced. What is looked up is a hash, so how long it takes tells nothing about
 * any token.
 */
export async function verifyScimToken(db: ReadDb, token: string, now: Date): Promise<ScimCredential | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const hash = hashOfScimToken(token);
  const row = await db
    .selectFrom("scim_token")
    .select(["idp_uid", "enabled", "token_hash", "expire_time", "previous_expire_time"])
    .where((eb) => eb.or([eb("token_hash", "=", hash), eb("previous_token_hash", "=", hash)]))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const expireTime = row.token_hash === hash ? row.expire_time : row.previous_expire_time;
  if (expireTime !== null && expireTime <= now.toISOString()) return undefined;
  return { idpUid: row.idp_uid, isEnabled: row.enabled === 1 };
}
