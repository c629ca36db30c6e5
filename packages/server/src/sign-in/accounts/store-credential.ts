/** Stores a way to sign in: for a new account, for one that is recovered, and for one whose page is open. */
import type { WriteDb } from "../../db/store.ts";
import { type AccountEvent, appendAccountEvent } from "../../iam/accounts/account-events.ts";
import { mailOthersWithAddress, NOTICES } from "../../iam/accounts/account-notices.ts";
import { accountVersion, type LocalAccount, lockAccount, personFromDraft } from "../../iam/accounts/account-record.ts";
import { type NewCredential, setCredential } from "../../iam/accounts/credentials.ts";
import { mailConfirmation } from "../../iam/accounts/email-confirmation.ts";
import { LostLink, type Recovery } from "../../iam/accounts/recovery.ts";
import { rootOf } from "../../lib/uid.ts";
import { SignInRefusal } from "../refusal.ts";
import { appendRegistrationEvent } from "../registered-event.ts";
import type { AccountParts } from "./account-parts.ts";
import type { OpenAccount, SetUpTarget } from "./account-step.ts";

/** Proof of the person who recovers an account. */
export interface RecoveryProof {
  /** Second factor; empty for none. */
  readonly code: string;
  readonly remoteAddress: string | undefined;
}

export interface StoredCredential {
  readonly identityUid: string;
  /** `update_time` of the account with the credential. */
  readonly version: string;
  /** New recovery codes; undefined if the old ones stay. */
  readonly codes: readonly string[] | undefined;
}

const CHANGED = "Your account has changed in the meantime. Open its page again.";
const LOST_LINK = "This link was used already, or another one has replaced it. Ask for a new one.";

/**
 * @returns undefined for a wrong code of a recovery
 * @throws SignInRefusal, HoltError
 */
export async function storeCredential(
  target: SetUpTarget,
  credential: NewCredential,
  proof: RecoveryProof,
  parts: AccountParts,
): Promise<StoredCredential | undefined> {
  switch (target.kind) {
    case "new":
      return createAccount(target, credential, parts);
    case "own":
      return addToOpenAccount(target.account, credential, parts);
    case "recover":
      return recover(target.recovery, credential, proof, parts);
  }
}

async function createAccount(
  { draft, invite: code }: Extract<SetUpTarget, { kind: "new" }>,
  credential: NewCredential,
  parts: AccountParts,
): Promise<StoredCredential> {
  const { store, clock, names, localAccounts, registrations, baseUrl } = parts;
  const now = clock.now();
  const account = personFromDraft(draft, baseUrl, credential.kind);
  const { identityUid } = account;
  return store.transaction(async (db) => {
    const { groupUid } = await registrations.recordRegister(db, { identityUid, account, code, now });
    await appendRegistrationEvent(db, { account, groupUid, now }, names);
    const codes = await localAccounts.insert(db, identityUid, draft, credential);
    const { email, name } = draft;
    if (credential.kind === "password") await mailOthersWithAddress(db, { identityUid, email, now }, parts);
    if (email !== "") await mailConfirmation(db, { identityUid, email, name, organization: rootOf(groupUid), now }, parts);
    return { identityUid, codes, version: await accountVersion(db, identityUid) };
  });
}

function addToOpenAccount(
  { identityUid, version }: OpenAccount,
  credential: NewCredential,
  parts: AccountParts,
): Promise<StoredCredential> {
  return parts.store.transaction(async (db: WriteDb) => {
    const now = parts.clock.now();
    const account = await lockAccount(db, identityUid);
    if (account.update_time !== version || account.disabled_time !== null) throw new SignInRefusal(409, CHANGED);
    await setCredential(db, { identityUid, credential, now }, parts.secrets);
    if (credential.kind === "password" && account.email_key === null)
      await mailOthersWithAddress(db, { identityUid, email: credential.password.email, now }, parts);
    await appendAccountEvent(db, { ...additionEvent(credential, account), identityUid, now }, parts);
    return { identityUid, codes: undefined, version: await accountVersion(db, identityUid) };
  });
}

function additionEvent(credential: NewCredential, before: LocalAccount): Pick<AccountEvent, "name" | "notice"> {
  if (credential.kind === "passkey") return { name: "passkey_added", notice: NOTICES.passkeyAdded };
  if (credential.password.totp === undefined) return { name: "password_changed", notice: NOTICES.passwordChanged };
  return { name: "password_changed", notice: before.password_hash === null ? NOTICES.passwordAdded : NOTICES.appReplaced };
}

async function recover(
  recovery: Recovery,
  credential: NewCredential,
  { code, remoteAddress }: RecoveryProof,
  parts: AccountParts,
): Promise<StoredCredential | undefined> {
  try {
    const recovered = await parts.localAccounts.recover({ recovery, credential, code, remoteAddress });
    return recovered && { identityUid: recovery.identityUid, ...recovered };
  } catch (error) {
    if (error instanceof LostLink) throw new SignInRefusal(404, LOST_LINK);
    throw error;
  }
}
