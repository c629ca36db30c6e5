/** Generates, stores and spends recovery codes. Each works once, and only a hash of it is stored. */
import { randomInt } from "node:crypto";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { lockAccount } from "./account-record.ts";

const CODES_PER_ACCOUNT = 10;
const GROUPS = 4;
const CHARACTERS_PER_GROUP = 5;
/** Without the letters that look like digits (Crockford's base 32). A code has 100 bits. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const CONTEXT = "recovery_code";

/** Whether the text has the length of a recovery code. Codes of authenticator apps are shorter. */
export function looksLikeRecoveryCode(text: string): boolean {
  return normalize(text).length === GROUPS * CHARACTERS_PER_GROUP;
}

/** Replaces all codes of the account. @returns the new codes, which are not stored @throws NOT_FOUND */
export async function replaceRecoveryCodes(db: WriteDb, identityUid: string, secrets: Pick<Secrets, "hash">): Promise<readonly string[]> {
  await lockAccount(db, identityUid);
  const codes = Array.from({ length: CODES_PER_ACCOUNT }, generateCode);
  await db.deleteFrom("recovery_code").where("identity_uid", "=", identityUid).execute();
  const rows = codes.map((code) => ({ code_hash: hashCode(code, secrets), identity_uid: identityUid }));
  await db.insertInto("recovery_code").values(rows).execute();
  return codes;
}

/**
 * Only one of two concurrent transactions succeeds.
 * @param identityUid only a code of this account; undefined for any
 * @returns the account of the code; undefined if there is no such code
 */
export async function spendRecoveryCode(
  db: WriteDb,
  code: string,
  secrets: Pick<Secrets, "hash">,
  identityUid?: string,
): Promise<string | undefined> {
  const query = db
    .deleteFrom("recovery_code")
    .where("code_hash", "=", hashCode(code, secrets))
    .$if(identityUid !== undefined, (of) => of.where("identity_uid", "=", identityUid ?? ""))
    .returning("identity_uid");
  return (await query.executeTakeFirst())?.identity_uid;
}

export async function isRecoveryCodeOf(db: ReadDb, code: string, identityUid: string, secrets: Pick<Secrets, "hash">): Promise<boolean> {
  const codes = db.selectFrom("recovery_code").select("code_hash").where("code_hash", "=", hashCode(code, secrets));
  return (await codes.where("identity_uid", "=", identityUid).executeTakeFirst()) !== undefined;
}

function generateCode(): string {
  const group = () => Array.from({ length: CHARACTERS_PER_GROUP }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return Array.from({ length: GROUPS }, group).join("-");
}

function hashCode(code: string, secrets: Pick<Secrets, "hash">): string {
  return secrets.hash(normalize(code), CONTEXT);
}

function normalize(code: string): string {
  return code.toLowerCase().replace(/[\s-]/g, "").replace(/o/g, "0").replace(/[il]/g, "1");
}

export async function countRecoveryCodes(db: ReadDb, identityUid: string): Promise<number> {
  const rows = await db.selectFrom("recovery_code").select("code_hash").where("identity_uid", "=", identityUid).execute();
  return rows.length;
}
