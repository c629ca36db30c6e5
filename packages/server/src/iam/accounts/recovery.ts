/** Recovers accounts: by a link of an administrator, or by a recovery code of a person who has lost all passkeys. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { networkOf } from "../../http/remote-network.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import type { LocalAccountTable } from "../tables.ts";
import { appendAccountEvent, appendCodeUse } from "./account-events.ts";
import { accountVersion, findAccount, lockAccount } from "./account-record.ts";
import { endSessions, type NewCredential, removeCredentials, setCredential, spendSecondFactor } from "./credentials.ts";
import type { LocalAccountParts } from "./local-account-parts.ts";
import { replaceRecoveryCodes, spendRecoveryCode } from "./recovery-codes.ts";
import { findRecoveryLink, lockRecoveryLink, spendRecoveryLink } from "./recovery-links.ts";

/** The right to replace an account's ways to sign in. */
export interface Recovery {
  readonly identityUid: string;
  /** Proof by which the recovery began. */
  readonly by: "link" | "code";
  /** SHA-256 of the link's token; empty for a recovery code. */
  readonly tokenHash: string;
  readonly resetsSecondFactor: boolean;
  /** `update_time` of the account when the recovery began. Any change of the account ends the recovery. */
  readonly version: string;
  /** RFC 3339. */
  readonly expireTime: string;
}

export interface RecoveredAccount {
  /** The new recovery codes. */
  readonly codes: readonly string[];
  /** `update_time` of the account after the recovery. */
  readonly version: string;
}

export interface RecoveryAttempt {
  readonly recovery: Recovery;
  readonly credential: NewCredential;
  /** Second factor, if `needsCode`. */
  readonly code: string;
  readonly remoteAddress: string | undefined;
}

/** Enough to fill in the form a few times. */
const RECOVERY_LIFETIME_MS = 15 * 60_000;

/** A recovery code alone is not enough for an account that also has a password. */
export class NeedsPassword extends Error {
  override readonly name = "NeedsPassword";
}

/** The link was used, replaced or voided since the recovery began. */
export class LostLink extends Error {
  override readonly name = "LostLink";
}

/** @returns undefined if the link does not exist, was used, or has expired, and for a disabled account */
export async function recoveryFromLink(db: ReadDb, tokenHash: string, now: Date): Promise<Recovery | undefined> {
  const link = await findRecoveryLink(db, tokenHash, now);
  const account = link && (await findAccount(db, link.identityUid));
  if (link === undefined || account === undefined || account.disabled_time !== null) return undefined;
  const { identityUid, resetsSecondFactor, expireTime } = link;
  return { identityUid, by: "link", tokenHash, resetsSecondFactor, version: account.update_time, expireTime };
}

/**
 * Spends a recovery code. A person with a password signs in with that and the code.
 * @returns undefined for a wrong code
 * @throws NeedsPassword, FAILED_PRECONDITION, RESOURCE_EXHAUSTED
 */
export async function startRecovery(
  code: string,
  remoteAddress: string | undefined,
  parts: LocalAccountParts,
): Promise<Recovery | undefined> {
  const { store, clock, guesses } = parts;
  // Counted per network alone: nobody can use up the attempts of others.
  const takeBack = guesses.take(`recovery from ${networkOf(remoteAddress)}`, remoteAddress);
  const now = clock.now();
  const account = await store
    .transaction((db) => redeemCode(db, code, now, parts))
    .catch((error: unknown) => {
      // The code was right.
      if (error instanceof NeedsPassword) takeBack();
      throw error;
    });
  if (account === undefined) return undefined;
  takeBack();
  const expireTime = new Date(now.getTime() + RECOVERY_LIFETIME_MS).toISOString();
  const { identity_uid: identityUid, update_time: version } = account;
  return { identityUid, by: "code", tokenHash: "", resetsSecondFactor: false, version, expireTime };
}

async function redeemCode(db: WriteDb, code: string, now: Date, parts: LocalAccountParts): Promise<LocalAccountTable | undefined> {
  const uid = await spendRecoveryCode(db, code, parts.secrets);
  if (uid === undefined) return undefined;
  const { password_hash: hash, disabled_time: disabled } = await lockAccount(db, uid);
  // Both roll back: the code stays good for a sign-in with the password.
  if (hash !== null) throw new NeedsPassword();
  if (disabled !== null) throw failedPrecondition("ACCOUNT_DISABLED", "the account is disabled; ask an administrator");
  await endSessions(db, uid, now);
  await appendCodeUse(db, uid, now, parts);
  return lockAccount(db, uid);
}

/** Whether a recovery needs a code of the authenticator app: a link alone does not remove that factor. */
export function needsCode({ by, resetsSecondFactor }: Recovery, { totp_secret }: LocalAccountTable): boolean {
  return by === "link" && !resetsSecondFactor && totp_secret !== null;
}

/**
 * Replaces all passkeys and the password, and ends all sessions.
 * @returns undefined for a wrong code
 * @throws LostLink, FAILED_PRECONDITION, RESOURCE_EXHAUSTED
 */
export async function recover(attempt: RecoveryAttempt, parts: LocalAccountParts): Promise<RecoveredAccount | undefined> {
  const takeBack = parts.guesses.take(attempt.recovery.identityUid, attempt.remoteAddress);
  const recovered = await parts.store.transaction((db) => recordRecovery(db, attempt, parts));
  if (recovered !== undefined) takeBack();
  return recovered;
}

async function recordRecovery(
  db: WriteDb,
  { recovery, credential, code }: RecoveryAttempt,
  parts: LocalAccountParts,
): Promise<RecoveredAccount | undefined> {
  const { clock, secrets } = parts;
  const now = clock.now();
  const { identityUid, by, tokenHash, resetsSecondFactor } = recovery;
  const account = await lockAccount(db, identityUid);
  assertLasts(recovery, account, now);
  // Before the code is spent, which stays good for another link.
  if (by === "link" && !(await lockRecoveryLink(db, tokenHash, now))) throw new LostLink();
  const factor = needsCode(recovery, account) ? await spendSecondFactor(db, { account, code, now }, secrets) : "app";
  if (factor === undefined) return undefined;
  if (by === "link") await spendRecoveryLink(db, tokenHash);
  if (factor === "recovery_code") await appendCodeUse(db, identityUid, now, parts);
  await removeCredentials(db, identityUid, resetsSecondFactor, now);
  await setCredential(db, { identityUid, credential, now }, secrets);
  await endSessions(db, identityUid, now);
  const body = { by, reset_second_factor: resetsSecondFactor, credential: credential.kind };
  await appendAccountEvent(db, { name: "recovered", identityUid, body, notice: noticeOf(recovery), now }, parts);
  const codes = await replaceRecoveryCodes(db, identityUid, secrets);
  return { codes, version: await accountVersion(db, identityUid) };
}

function assertLasts({ version, expireTime }: Recovery, account: LocalAccountTable, now: Date): void {
  if (account.disabled_time !== null || account.update_time !== version || expireTime <= now.toISOString())
    throw failedPrecondition("RECOVERY_ENDED", "this recovery has expired, or the account has changed meanwhile; start again");
}

function noticeOf({ by, resetsSecondFactor }: Recovery): string {
  const app = resetsSecondFactor ? ", authenticator app" : "";
  return `Your account was recovered with a recovery ${by}: its passkeys, password${app} and recovery codes were replaced.`;
}
