/** Changes the ways to sign in to the account whose page is open. */
import type { WriteDb } from "../../db/store.ts";
import { NOTICES } from "../../iam/accounts/account-notices.ts";
import { updateAccount } from "../../iam/accounts/account-record.ts";
import { isRefused, passkeysOf } from "../../iam/accounts/passkeys.ts";
import { replaceRecoveryCodes } from "../../iam/accounts/recovery-codes.ts";
import { newTotpSecret } from "../../iam/accounts/totp.ts";
import type { BeginningBrowser } from "../browser.ts";
import { SignInRefusal } from "../refusal.ts";
import { passkeyName, readSetUpFields } from "./account-form-fields.ts";
import { type AccountPage, type CodesPage, type ManageStep, showAccountPage, TO_ACCOUNT_PAGE } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import { readChoice } from "./choose-credential.ts";
import { changeOpenAccount, findOpenAccount } from "./open-account.ts";
import { type AppPage, showApp } from "./set-up-page.ts";
import { storeCredential } from "./store-credential.ts";

const CODES_REPLACED = { name: "recovery_codes_replaced", notice: NOTICES.codesReplaced } as const;
const PASSWORD_REMOVED = { name: "password_changed", notice: NOTICES.passwordRemoved } as const;

export async function changePassword(
  { account, challenge }: ManageStep,
  form: URLSearchParams,
  { browser, remoteAddress }: BeginningBrowser,
  parts: AccountParts,
): Promise<AccountPage | AppPage> {
  const target = { kind: "own", account } as const;
  const choice = await readChoice({ target, challenge }, { ...readSetUpFields(form), credential: "" }, remoteAddress, parts);
  if (choice.kind === "problem") throw new SignInRefusal(400, choice.problem);
  if (choice.kind === "app") return showApp({ ...TO_ACCOUNT_PAGE, ...choice }, { browser }, parts);
  await storeCredential(target, choice.credential, { code: "", remoteAddress }, parts);
  return showAccountPage(account.identityUid, browser, { notice: "The password was changed." }, parts);
}

/** Asks for the first code of another authenticator app, which then replaces the one of the account. The password stays. */
export async function changeApp({ account }: ManageStep, { browser }: BeginningBrowser, parts: AccountParts): Promise<AppPage> {
  const { email = "", name = "", password_hash: hash = null } = (await findOpenAccount(parts.store.reader, account.identityUid)) ?? {};
  if (hash === null) throw new SignInRefusal(400, "Only an account with a password needs an authenticator app.");
  const step = { target: { kind: "own", account }, password: { email, name, hash, code: "" }, secret: newTotpSecret() } as const;
  return showApp({ ...TO_ACCOUNT_PAGE, ...step }, { browser }, parts);
}

/** @returns what was done */
export async function addPasskey({ account, challenge }: ManageStep, form: URLSearchParams, parts: AccountParts): Promise<string> {
  const name = passkeyName(form.get("name") ?? "", parts.clock.now());
  const passkey = await parts.localAccounts.webauthn.verifyCreation(form.get("credential") ?? "", challenge, name);
  if (passkey === undefined) throw new SignInRefusal(400, "The browser did not make a passkey for this server. Try again.");
  const proof = { code: "", remoteAddress: undefined };
  await storeCredential({ kind: "own", account }, { kind: "passkey", passkey }, proof, parts);
  return "The passkey was added.";
}

/** @returns what was done */
export async function removePassword({ account }: ManageStep, parts: AccountParts): Promise<string> {
  const { identityUid } = account;
  const remove = async (db: WriteDb) => {
    if ((await passkeysOf(db, identityUid)).every(isRefused))
      throw new SignInRefusal(400, "The password is the only way into your account. Add a passkey first.");
    const none = { password_hash: null, email_key: null, totp_secret: null, totp_step: null };
    await updateAccount(db, identityUid, none, parts.clock.now());
  };
  await changeOpenAccount(account, PASSWORD_REMOVED, remove, parts);
  return "The password and the authenticator app were removed.";
}

export async function replaceCodes({ account }: ManageStep, { browser }: BeginningBrowser, parts: AccountParts): Promise<CodesPage> {
  const { identityUid } = account;
  const replace = (db: WriteDb) => replaceRecoveryCodes(db, identityUid, parts.secrets);
  const { result: codes, version } = await changeOpenAccount(account, CODES_REPLACED, replace, parts);
  const person = { identityUid, version };
  return { kind: "codes", handle: await parts.steps.store({ kind: "continue", ...TO_ACCOUNT_PAGE, ...person }, browser), codes };
}
