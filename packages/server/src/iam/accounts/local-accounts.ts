/** Signs people in with local accounts, creates these accounts, and recovers them. Browsers reach it through sign-in/accounts/. */
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { networkOf } from "../../http/remote-network.ts";
import type { Clock } from "../../lib/clock.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import type { GuessLimit } from "../pull-tokens/guess-limit.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { LocalAccountTable } from "../tables.ts";
import { type AccountEventParts, appendAccountEvent } from "./account-events.ts";
import { type AccountDraft, emailKey, findAccount, findAccountsByEmail, insertAccount, lockAccount } from "./account-record.ts";
import {
  chooseBySecondFactor,
  endSessions,
  type NewCredential,
  removeCredentials,
  setCredential,
  spendSecondFactor,
} from "./credentials.ts";
import { findPasskey, recordPasskeyUse, refusePasskey } from "./passkeys.ts";
import type { PasswordHashes } from "./password-hash.ts";
import { replaceRecoveryCodes, spendRecoveryCode } from "./recovery-codes.ts";
import { findRecoveryLink, type RecoveryLink, spendRecoveryLink } from "./recovery-links.ts";
import type { Webauthn } from "./webauthn.ts";

export interface PasswordAttempt {
  readonly email: string;
  readonly password: string;
  /** A code of the authenticator app, or a recovery code. */
  readonly code: string;
  readonly remoteAddress: string | undefined;
}

/** The right to set up an account's ways to sign in anew. */
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

export interface RecoveryAttempt {
  readonly recovery: Recovery;
  readonly credential: NewCredential;
  /** Second factor, if `needsCode`. */
  readonly code: string;
  readonly remoteAddress: string | undefined;
}

export interface LocalAccounts {
  readonly webauthn: Webauthn;
  readonly passwords: PasswordHashes;
  /**
   * Does the same work and gives the same answer for a missing account, a wrong password and a wrong code.
   * @throws RESOURCE_EXHAUSTED
   */
  checkPassword(attempt: PasswordAttempt): Promise<LocalAccountTable | undefined>;
  /** @returns `cloned` if the passkey was used in two authenticators; undefined if it is not valid */
  checkPasskey(answer: string, challenge: string): Promise<LocalAccountTable | "cloned" | undefined>;
  /**
   * Whether somebody who holds a token of the person is the person.
   * @throws RESOURCE_EXHAUSTED
   */
  checkOwner(account: LocalAccountTable, proof: Pick<PasswordAttempt, "password" | "code">): Promise<boolean>;
  /** The identity must exist. @returns the recovery codes */
  insert(db: WriteDb, identityUid: string, draft: AccountDraft, credential: NewCredential): Promise<readonly string[]>;
  /**
   * Spends a recovery code of a person who has lost all passkeys. A person with a password signs in with that and the code.
   * @throws RESOURCE_EXHAUSTED
   */
  startRecovery(code: string, remoteAddress: string | undefined): Promise<Recovery | undefined>;
  /** Whether a recovery needs a code of the authenticator app: a link alone does not remove that factor. */
  needsCode(recovery: Recovery, account: LocalAccountTable): boolean;
  /**
   * Replaces all passkeys and the password, and ends all sessions.
   * @returns new recovery codes; undefined if the link was used meanwhile, or for a wrong code
   * @throws RESOURCE_EXHAUSTED
   */
  recover(attempt: RecoveryAttempt): Promise<readonly string[] | undefined>;
}

export interface LocalAccountsOptions extends AccountEventParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly webauthn: Webauthn;
  readonly passwords: PasswordHashes;
  readonly guesses: GuessLimit;
}

/** Enough to fill in the form a few times. */
const RECOVERY_LIFETIME_MS = 15 * 60_000;

export function createLocalAccounts(options: LocalAccountsOptions): LocalAccounts {
  const { store, clock, secrets, webauthn, passwords, guesses } = options;

  function appendCodeUse(db: WriteDb, identityUid: string): Promise<void> {
    const notice = "A recovery code of your account was used.";
    return appendAccountEvent(db, { name: "recovery_code_used", identityUid, notice, now: clock.now() }, options);
  }

  async function spendAtSignIn(account: LocalAccountTable, code: string): Promise<boolean> {
    const now = clock.now();
    const { identity_uid: identityUid } = account;
    return store.transaction(async (db) => {
      const factor = await spendSecondFactor(db, { account, code, now }, secrets);
      if (factor !== "recovery_code") return factor !== undefined;
      await endSessions(db, identityUid, now);
      await appendCodeUse(db, identityUid);
      return true;
    });
  }

  function needsCode({ by, resetsSecondFactor }: Recovery, { totp_secret }: LocalAccountTable): boolean {
    return by === "link" && !resetsSecondFactor && totp_secret !== null;
  }

  async function recordRecovery(db: WriteDb, { recovery, credential, code }: RecoveryAttempt): Promise<readonly string[] | undefined> {
    const now = clock.now();
    const { identityUid, by, tokenHash, resetsSecondFactor, version, expireTime } = recovery;
    const account = await lockAccount(db, identityUid);
    if (account.disabled_time !== null || account.update_time !== version || expireTime <= now.toISOString())
      throw failedPrecondition("RECOVERY_ENDED", "this recovery has expired, or the account has changed meanwhile; start again");
    const factor = needsCode(recovery, account) ? await spendSecondFactor(db, { account, code, now }, secrets) : "app";
    if (factor === undefined) return undefined;
    if (by === "link" && !(await spendRecoveryLink(db, tokenHash, now))) return undefined;
    if (factor === "recovery_code") await appendCodeUse(db, identityUid);
    await removeCredentials(db, identityUid, resetsSecondFactor, now);
    await setCredential(db, { identityUid, credential, now }, secrets);
    await endSessions(db, identityUid, now);
    const body = { by, reset_second_factor: resetsSecondFactor, credential: credential.kind };
    const notice = `Your account was recovered with a recovery ${by}: its passkeys, password${resetsSecondFactor ? ", authenticator app" : ""} and recovery codes were replaced.`;
    await appendAccountEvent(db, { name: "recovered", identityUid, body, notice, now }, options);
    return replaceRecoveryCodes(db, identityUid, secrets);
  }

  return {
    webauthn,
    passwords,
    needsCode,

    async checkPassword({ email, password, code, remoteAddress }) {
      const takeBack = guesses.take(emailKey(email), remoteAddress);
      const accounts = await findAccountsByEmail(store.reader, email);
      const account = await chooseBySecondFactor(store.reader, accounts, { code, now: clock.now() }, secrets);
      const isRight = await passwords.verify(password, account?.password_hash ?? undefined, networkOf(remoteAddress));
      if (!isRight || account === undefined || !(await spendAtSignIn(account, code))) return undefined;
      takeBack();
      return account;
    },

    async checkPasskey(answer, challenge) {
      const presented = webauthn.parseUse(answer);
      if (presented === undefined) return undefined;
      const passkey = await findPasskey(store.reader, presented.credentialId);
      const account = passkey && (await findAccount(store.reader, passkey.identity_uid));
      if (passkey === undefined || account?.user_handle !== presented.userHandle) return undefined;
      const signCount = await webauthn.verifyUse(presented, challenge, passkey);
      if (signCount === undefined) return undefined;
      const { identity_uid: identityUid } = account;
      const now = clock.now();
      const body = { passkey_uid: passkey.uid, passkey_name: passkey.name };
      const notice = `The passkey “${passkey.name}” was refused because somebody may have copied it. It is not accepted any more: remove it.`;
      return store.transaction(async (db) => {
        if (await recordPasskeyUse(db, passkey.credential_id, signCount, now)) return account;
        await refusePasskey(db, passkey.credential_id);
        await appendAccountEvent(db, { name: "passkey_cloned", identityUid, body, notice, now }, options);
        return "cloned";
      });
    },

    async checkOwner(account, { password, code }) {
      const { identity_uid: uid, password_hash: hash, totp_secret: app } = account;
      const takeBack = guesses.take(uid, undefined);
      if (!(await passwords.verify(password, hash ?? undefined, uid))) return false;
      if (app !== null && !(await spendAtSignIn(account, code))) return false;
      takeBack();
      return true;
    },

    async insert(db, identityUid, draft, credential) {
      const now = clock.now();
      await insertAccount(db, identityUid, draft, now);
      await setCredential(db, { identityUid, credential, now }, secrets);
      await appendAccountEvent(db, { name: "created", identityUid, body: { credential: credential.kind }, now }, options);
      return replaceRecoveryCodes(db, identityUid, secrets);
    },

    async startRecovery(code, remoteAddress) {
      // Counted per network alone: nobody can use up the attempts of others.
      const takeBack = guesses.take(`recovery from ${networkOf(remoteAddress)}`, remoteAddress);
      const now = clock.now();
      const account = await store.transaction(async (db) => {
        const uid = await spendRecoveryCode(db, code, secrets);
        if (uid === undefined) return undefined;
        const { password_hash: hash, disabled_time: disabled } = await lockAccount(db, uid);
        // Both roll back: the code stays good for a sign-in with the password.
        if (hash !== null) throw new NeedsPassword();
        if (disabled !== null) throw failedPrecondition("ACCOUNT_DISABLED", "the account is disabled; ask an administrator");
        await endSessions(db, uid, now);
        await appendCodeUse(db, uid);
        return lockAccount(db, uid);
      });
      if (account === undefined) return undefined;
      takeBack();
      const expireTime = new Date(now.getTime() + RECOVERY_LIFETIME_MS).toISOString();
      const { identity_uid: identityUid, update_time: version } = account;
      return { identityUid, by: "code", tokenHash: "", resetsSecondFactor: false, version, expireTime };
    },

    async recover(attempt) {
      const { identityUid } = attempt.recovery;
      const takeBack = guesses.take(identityUid, attempt.remoteAddress);
      const codes = await store.transaction((db) => recordRecovery(db, attempt));
      if (codes !== undefined) takeBack();
      return codes;
    },
  };
}

/** A recovery code alone is not enough for an account that also has a password. */
export class NeedsPassword extends Error {
  override readonly name = "NeedsPassword";
}

/** @returns undefined if the link does not exist, was used, or has expired, and for a disabled account */
export async function recoveryFromLink(db: ReadDb, tokenHash: string, now: Date): Promise<Recovery | undefined> {
  const link: RecoveryLink | undefined = await findRecoveryLink(db, tokenHash, now);
  const account = link && (await findAccount(db, link.identityUid));
  if (link === undefined || account === undefined || account.disabled_time !== null) return undefined;
  const { identityUid, resetsSecondFactor, expireTime } = link;
  return { identityUid, by: "link", tokenHash, resetsSecondFactor, version: account.update_time, expireTime };
}
