/**
 * Generates and verifies SCIM tokens. Only a hash of each is stored. Issuing and revoking them is in the service in
 * api/.
 */
import { randomBytes } from "node:crypto";
import type { ReadDb } from "../../db/store.ts";
import { sha256Hex } from "../../lib/sha256.ts";

const TOKEN_FORMAT = /^cgscim_[0-9a-f]{64}$/;

export function generateScimToken(): string {
  return `cgscim_${randomBytes(32).toString("hex")}`;
}

export function hashScimToken(token: string): string {
  return sha256Hex(token);
}

/** What a SCIM token gives access to. */
export interface ScimCredential {
  /** Uid of the identity provider whose directory uses the token. */
  readonly idpUid: string;
  /** False while provisioning is switched off: every request must be rejected. */
  readonly isEnabled: boolean;
}

/**
 * Looks the token up by its hash, so timing reveals nothing about stored tokens.
 * @returns undefined if the token is unknown, expired, revoked or replaced
 */
export async function verifyScimToken(db: ReadDb, token: string, now: Date): Promise<ScimCredential | undefined> {
  if (!TOKEN_FORMAT.test(token)) return undefined;
  const hash = hashScimToken(token);
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
