/** Checks the passkey, or the password with its second factor, of a person who signs in with an account of this server. */
import { networkOf } from "../../http/remote-network.ts";
import type { LocalAccountTable } from "../tables.ts";
import { appendAccountEvent, appendCodeUse } from "./account-events.ts";
import { emailKey, findAccount, findAccountForUpdate, findAccountsByEmail } from "./account-record.ts";
import { chooseBySecondFactor, endSessions, spendSecondFactor } from "./credentials.ts";
import type { LocalAccountParts } from "./local-account-parts.ts";
import { findPasskey, recordPasskeyUse, refusePasskey, type StoredPasskey } from "./passkeys.ts";

export interface PasswordAttempt {
  readonly email: string;
  readonly password: string;
  /** A code of the authenticator app, or a recovery code. */
  readonly code: string;
  readonly remoteAddress: string | undefined;
}

/**
 * Does the same work and gives the same answer for a missing account, a wrong password and a wrong code.
 * @returns the account as it was while the password was good
 * @throws RESOURCE_EXHAUSTED
 */
export async function checkPassword(
  { email, password, code, remoteAddress }: PasswordAttempt,
  parts: LocalAccountParts,
): Promise<LocalAccountTable | undefined> {
  const { store, clock, secrets, passwords, guesses } = parts;
  const takeBack = guesses.take(emailKey(email), remoteAddress);
  const accounts = await findAccountsByEmail(store.reader, email);
  const account = await chooseBySecondFactor(store.reader, accounts, { code, now: clock.now() }, secrets);
  const isRight = await passwords
    .verify(password, account?.password_hash ?? undefined, networkOf(remoteAddress))
    .catch(uncountedFailure(takeBack));
  const signedIn = isRight && account !== undefined ? await spendAtSignIn(account, code, parts) : undefined;
  if (signedIn !== undefined) takeBack();
  return signedIn;
}

/**
 * @returns the account as it was while it had the passkey; `cloned` if the passkey was used in two authenticators;
 * undefined if it is not valid
 */
export async function checkPasskey(
  answer: string,
  challenge: string,
  parts: LocalAccountParts,
): Promise<LocalAccountTable | "cloned" | undefined> {
  const { store, webauthn } = parts;
  const presented = webauthn.parseUse(answer);
  if (presented === undefined) return undefined;
  const passkey = await findPasskey(store.reader, presented.credentialId);
  const account = passkey && (await findAccount(store.reader, passkey.identity_uid));
  if (passkey === undefined || account?.user_handle !== presented.userHandle) return undefined;
  const signCount = await webauthn.verifyUse(presented, challenge, passkey);
  if (signCount === undefined) return undefined;
  return recordUse(passkey, signCount, parts);
}

/**
 * Whether somebody who holds a token of the person is the person.
 * @throws RESOURCE_EXHAUSTED
 */
export async function checkOwner(
  account: LocalAccountTable,
  { password, code }: Pick<PasswordAttempt, "password" | "code">,
  parts: LocalAccountParts,
): Promise<boolean> {
  const { identity_uid: uid, password_hash: hash, totp_secret: app } = account;
  const takeBack = parts.guesses.take(uid, undefined);
  if (!(await parts.passwords.verify(password, hash ?? undefined, uid).catch(uncountedFailure(takeBack)))) return false;
  if (app !== null && (await spendAtSignIn(account, code, parts)) === undefined) return false;
  takeBack();
  return true;
}

/** An attempt does not count as wrong if its password was not even checked, such as while too many wait. */
function uncountedFailure(takeBack: () => void): (error: unknown) => never {
  return (error) => {
    takeBack();
    throw error;
  };
}

/**
 * Checking a password takes long, so the account is read again. The lock keeps it as it is until the code is spent.
 * @returns the account afterwards; undefined for a wrong code, and if the password was replaced since it was checked
 */
async function spendAtSignIn(checked: LocalAccountTable, code: string, parts: LocalAccountParts): Promise<LocalAccountTable | undefined> {
  const { store, clock, secrets } = parts;
  const now = clock.now();
  const { identity_uid: identityUid } = checked;
  return store.transaction(async (db) => {
    const account = await findAccountForUpdate(db, identityUid);
    if (account === undefined || account.password_hash !== checked.password_hash) return undefined;
    const factor = await spendSecondFactor(db, { account, code, now }, secrets);
    if (factor !== "recovery_code") return factor && account;
    await endSessions(db, identityUid, now);
    await appendCodeUse(db, identityUid, now, parts);
    return findAccount(db, identityUid);
  });
}

/** @returns the account; `cloned` if another authenticator has used the passkey, too: it is not accepted any more */
async function recordUse(
  passkey: StoredPasskey,
  signCount: number,
  parts: LocalAccountParts,
): Promise<LocalAccountTable | "cloned" | undefined> {
  const { store, clock } = parts;
  const { uid, name, credential_id: credentialId, identity_uid: identityUid } = passkey;
  const now = clock.now();
  const body = { passkey_uid: uid, passkey_name: name };
  const notice = `The passkey “${name}” was refused because somebody may have copied it. It is not accepted any more: remove it.`;
  return store.transaction(async (db) => {
    const account = await findAccountForUpdate(db, identityUid);
    // The passkey may have been removed since it was read.
    if ((await findPasskey(db, credentialId)) === undefined) return undefined;
    if (await recordPasskeyUse(db, credentialId, signCount, now)) return account;
    await refusePasskey(db, credentialId);
    await appendAccountEvent(db, { name: "passkey_cloned", identityUid, body, notice, now }, parts);
    return "cloned";
  });
}
