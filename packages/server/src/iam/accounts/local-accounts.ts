/** Signs people in with local accounts, creates these accounts, and recovers them. Browsers reach it through sign-in/accounts/. */
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import type { LocalAccountTable } from "../tables.ts";
import { appendAccountEvent } from "./account-events.ts";
import { type AccountDraft, insertAccount } from "./account-record.ts";
import { checkOwner, checkPasskey, checkPassword, type PasswordAttempt } from "./check-credentials.ts";
import { type NewCredential, setCredential } from "./credentials.ts";
import type { LocalAccountParts } from "./local-account-parts.ts";
import type { PasswordHashes } from "./password-hash.ts";
import { needsCode, type RecoveredAccount, type Recovery, type RecoveryAttempt, recover, startRecovery } from "./recovery.ts";
import { replaceRecoveryCodes } from "./recovery-codes.ts";
import type { Webauthn } from "./webauthn.ts";

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
   * @returns undefined for a wrong code
   * @throws LostLink, RESOURCE_EXHAUSTED
   */
  recover(attempt: RecoveryAttempt): Promise<RecoveredAccount | undefined>;
}

/** @throws FAILED_PRECONDITION if the operator has turned local accounts off */
export function requireLocalAccounts(accounts: LocalAccounts | undefined): LocalAccounts {
  if (accounts === undefined) throw failedPrecondition("LOCAL_ACCOUNTS_OFF", "the operator has turned local accounts off");
  return accounts;
}

export function createLocalAccounts(parts: LocalAccountParts): LocalAccounts {
  const { webauthn, passwords } = parts;
  return {
    webauthn,
    passwords,
    needsCode,
    checkPassword: (attempt) => checkPassword(attempt, parts),
    checkPasskey: (answer, challenge) => checkPasskey(answer, challenge, parts),
    checkOwner: (account, proof) => checkOwner(account, proof, parts),
    insert: (db, identityUid, draft, credential) => insert(db, identityUid, { draft, credential }, parts),
    startRecovery: (code, remoteAddress) => startRecovery(code, remoteAddress, parts),
    recover: (attempt) => recover(attempt, parts),
  };
}

async function insert(
  db: WriteDb,
  identityUid: string,
  { draft, credential }: { readonly draft: AccountDraft; readonly credential: NewCredential },
  parts: LocalAccountParts,
): Promise<readonly string[]> {
  const now = parts.clock.now();
  await insertAccount(db, identityUid, draft, now);
  await setCredential(db, { identityUid, credential, now }, parts.secrets);
  await appendAccountEvent(db, { name: "created", identityUid, body: { credential: credential.kind }, now }, parts);
  return replaceRecoveryCodes(db, identityUid, parts.secrets);
}
