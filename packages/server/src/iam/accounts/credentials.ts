/** Gives accounts their ways to sign in, and takes them away. Callers run it in a transaction and have checked who asks. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { totpContext } from "../secrets/contexts.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { LocalAccountTable } from "../tables.ts";
import { endAllSessions } from "../tokens/refresh-token.ts";
import { emailKey, updateAccount } from "./account-record.ts";
import { insertPasskey, type NewPasskey } from "./passkeys.ts";
import { isRecoveryCodeOf, looksLikeRecoveryCode, spendRecoveryCode } from "./recovery-codes.ts";
import { findTotpStep } from "./totp.ts";

export interface NewPassword {
  readonly email: string;
  readonly hash: string;
  /** Undefined keeps the authenticator app of the account. `step` is that of the code that proved it. */
  readonly totp: { readonly secret: string; readonly step: number } | undefined;
}

export type NewCredential =
  | { readonly kind: "passkey"; readonly passkey: NewPasskey }
  | { readonly kind: "password"; readonly password: NewPassword };

export async function setCredential(
  db: WriteDb,
  { identityUid, credential, now }: { readonly identityUid: string; readonly credential: NewCredential; readonly now: Date },
  secrets: Secrets,
): Promise<void> {
  if (credential.kind === "passkey") {
    await insertPasskey(db, identityUid, credential.passkey, now);
    return updateAccount(db, identityUid, {}, now);
  }
  const { email, hash, totp } = credential.password;
  const app = totp && { totp_secret: secrets.seal(totp.secret, totpContext(identityUid)), totp_step: totp.step };
  await updateAccount(db, identityUid, { email, email_key: emailKey(email), password_hash: hash, ...app }, now);
}

/** Removes every way to sign in. The authenticator app stays unless `resetsApp`. */
export async function removeCredentials(db: WriteDb, identityUid: string, resetsApp: boolean, now: Date): Promise<void> {
  await db.deleteFrom("passkey").where("identity_uid", "=", identityUid).execute();
  const app = resetsApp ? { totp_secret: null, totp_step: null } : {};
  await updateAccount(db, identityUid, { password_hash: null, email_key: null, ...app }, now);
}

/** Which second factor a code was. */
export type SpentFactor = "app" | "recovery_code";

/**
 * Spends a code of the authenticator app, or a recovery code. If two transactions have the same code, one gets it.
 * @returns undefined for a wrong code
 */
export async function spendSecondFactor(
  db: WriteDb,
  { account, code, now }: { readonly account: LocalAccountTable; readonly code: string; readonly now: Date },
  secrets: Secrets,
): Promise<SpentFactor | undefined> {
  const { identity_uid: identityUid, totp_secret: sealed } = account;
  if (looksLikeRecoveryCode(code))
    return (await spendRecoveryCode(db, code, secrets, identityUid)) === undefined ? undefined : "recovery_code";
  if (sealed === null) return undefined;
  const step = findTotpStep(secrets.open(sealed, totpContext(identityUid)), code, now);
  if (step === undefined) return undefined;
  const { numUpdatedRows } = await db
    .updateTable("local_account")
    .set({ totp_step: step })
    .where("identity_uid", "=", identityUid)
    .where((where) => where.or([where("totp_step", "is", null), where("totp_step", "<", step)]))
    .executeTakeFirst();
  return numUpdatedRows === 1n ? "app" : undefined;
}

/**
 * The account that a second factor belongs to, of those with the same address; the first if it belongs to none. So a
 * sign-in checks one password, however many accounts have the address. Spends nothing.
 */
export async function chooseBySecondFactor(
  db: ReadDb,
  accounts: readonly LocalAccountTable[],
  { code, now }: { readonly code: string; readonly now: Date },
  secrets: Secrets,
): Promise<LocalAccountTable | undefined> {
  if (accounts.length <= 1) return accounts[0];
  const isCode = looksLikeRecoveryCode(code);
  for (const account of accounts) {
    const { identity_uid: identityUid, totp_secret: sealed } = account;
    const fits = isCode
      ? await isRecoveryCodeOf(db, code, identityUid, secrets)
      : sealed !== null && findTotpStep(secrets.open(sealed, totpContext(identityUid)), code, now) !== undefined;
    if (fits) return account;
  }
  return accounts[0];
}

/** Ends the sessions of the person with all their tokens, logins that wait for a device, and open pages of the account. */
export async function endSessions(db: WriteDb, identityUid: string, now: Date): Promise<void> {
  await endAllSessions(db, identityUid);
  await db.deleteFrom("device_login").where("identity_uid", "=", identityUid).execute();
  await updateAccount(db, identityUid, {}, now);
}
