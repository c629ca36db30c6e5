/** Signs people in with accounts of this server, and continues where their sign-in leads to. */
import { personFromAccount } from "../../iam/accounts/account-record.ts";
import type { BeginningBrowser } from "../browser.ts";
import { LOST_STEP, SignInRefusal } from "../refusal.ts";
import { showAccountPage } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountBrowser, AccountResult } from "./account-result.ts";
import type { AccountStep, Continuation, ProvenPerson } from "./account-step.ts";
import { findOpenAccount } from "./open-account.ts";

export interface PasswordFields {
  readonly email: string;
  readonly password: string;
  readonly code: string;
  /** The browser's answer with a passkey; empty for a password. */
  readonly credential: string;
}

type SignInStep = Extract<AccountStep, { kind: "sign-in" }>;

const NO_ACCOUNT = "Nobody has an account here yet. Open the link that you were invited with.";
export const WRONG_PASSWORD = "The email address, the password or the code is wrong. A code works once: wait for the next one.";
const WRONG_PASSKEY = "This passkey does not belong to an account here, or it was removed. Choose another one, or another way to sign in.";
const CLONED =
  "This passkey was refused: it looks as if it exists twice. Somebody may have copied it. Sign in in another way, remove it at /oauth/account, and tell your administrator.";
const DISABLED = "This account is disabled. Ask an administrator of your organization.";

/** Shows the forms that lead to the page of the account. @throws SignInRefusal */
export async function askToSignIn(by: BeginningBrowser, { offerAccounts }: AccountParts): Promise<AccountResult> {
  const accounts = await offerAccounts({ request: undefined, query: "" }, by);
  if (accounts === undefined) throw new SignInRefusal(404, NO_ACCOUNT);
  return { kind: "account-sign-in", accounts };
}

/** @throws SignInRefusal, HoltError */
export async function signInWithAccount(
  step: SignInStep,
  { email, password, code, credential }: PasswordFields,
  by: AccountBrowser & { readonly browser: string },
  parts: AccountParts,
): Promise<AccountResult> {
  const { localAccounts } = parts;
  const isPasskey = credential !== "";
  const account = isPasskey
    ? await localAccounts.checkPasskey(credential, step.challenge)
    : await localAccounts.checkPassword({ email, password, code, remoteAddress: by.remoteAddress });
  if (account === "cloned") return signInAgain(step, by, CLONED, parts);
  if (account === undefined) return signInAgain(step, by, isPasskey ? WRONG_PASSKEY : WRONG_PASSWORD, parts);
  const { identity_uid: identityUid, update_time: version } = account;
  return continueSignIn({ identityUid, version, credential: isPasskey ? "passkey" : "password" }, step, by, parts);
}

/** Goes on with the sign-in, or to the page of the account. @throws SignInRefusal, HoltError */
export async function continueSignIn(
  { identityUid, version, credential }: ProvenPerson,
  { request }: Continuation,
  by: AccountBrowser,
  parts: AccountParts,
): Promise<AccountResult> {
  const account = await findOpenAccount(parts.store.reader, identityUid);
  if (account === undefined) throw new SignInRefusal(403, DISABLED);
  if (account.update_time !== version) throw new SignInRefusal(400, LOST_STEP);
  if (request === undefined) return showAccountPage(identityUid, by.browser ?? "", {}, parts);
  return parts.signIn.continueAs(personFromAccount(account, parts.baseUrl, credential), request, by);
}

async function signInAgain(
  { request, query }: Continuation,
  by: BeginningBrowser,
  problem: string,
  { offerAccounts, signIn }: AccountParts,
): Promise<AccountResult> {
  const accounts = await offerAccounts({ request, query }, by, problem);
  if (accounts === undefined) throw new SignInRefusal(403, problem);
  return request === undefined ? { kind: "account-sign-in", accounts } : signIn.chooseAgain({ request, query }, accounts);
}
