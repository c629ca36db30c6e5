/** Sets up ways to sign in, step by step: for a new account, and for one that is recovered. */
import type { NewCredential } from "../../iam/accounts/credentials.ts";
import { NeedsPassword } from "../../iam/accounts/recovery.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { BeginningBrowser } from "../browser.ts";
import { SignInRefusal } from "../refusal.ts";
import type { SignInRequest } from "../request.ts";
import type { SetUpFields } from "./account-form-fields.ts";
import { TO_ACCOUNT_PAGE } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountBrowser, AccountResult } from "./account-result.ts";
import type { AccountStep, Continuation, SetUpTarget } from "./account-step.ts";
import { proveApp, readChoice } from "./choose-credential.ts";
import { continueSignIn, WRONG_PASSWORD } from "./own-sign-in.ts";
import { showApp, showSetUp } from "./set-up-page.ts";
import { newAccountTarget, recoveryTarget } from "./set-up-target.ts";
import { storeCredential } from "./store-credential.ts";

type Step<K extends AccountStep["kind"]> = Extract<AccountStep, { kind: K }>;

/** An account's browser that has shown its cookie. */
type KnownBrowser = AccountBrowser & { readonly browser: string };

const WRONG_LINK = "This link does not exist, was used already, or has expired. Ask for a new one.";
const WRONG_CODE = "This is not one of your recovery codes, or it was used already.";
const WRONG_APP_CODE = "This is not the code that the app shows now. Try the next one.";
const NEEDS_PASSWORD =
  "Your account has a password. Sign in with your email address and password, and use the recovery code as the code there.";

/** @throws SignInRefusal, HoltError */
export async function beginNewAccount(
  request: SignInRequest,
  query: string,
  by: BeginningBrowser,
  parts: AccountParts,
): Promise<AccountResult> {
  const target = await newAccountTarget(parts.store.reader, request.invite, parts.clock.now());
  return beginSetUp(target, { request, query }, by, parts);
}

/** @throws SignInRefusal, HoltError */
export async function beginRecoveryByLink(token: string, by: BeginningBrowser, parts: AccountParts): Promise<AccountResult> {
  const target = await recoveryTarget(parts.store.reader, sha256Hex(token), parts.clock.now());
  if (target === undefined) throw new SignInRefusal(404, WRONG_LINK);
  return beginSetUp(target, TO_ACCOUNT_PAGE, by, parts);
}

/** @throws SignInRefusal, HoltError */
export async function beginRecoveryByCode(code: string, by: BeginningBrowser, parts: AccountParts): Promise<AccountResult> {
  try {
    const recovery = await parts.localAccounts.startRecovery(code, by.remoteAddress);
    if (recovery === undefined) return { kind: "recover", problem: WRONG_CODE };
    return await beginSetUp({ kind: "recover", recovery }, TO_ACCOUNT_PAGE, by, parts);
  } catch (error) {
    if (error instanceof NeedsPassword) return { kind: "recover", problem: NEEDS_PASSWORD };
    throw error;
  }
}

/** Takes the choice of the set-up page. @throws SignInRefusal, HoltError */
export async function takeChoice(step: Step<"set-up">, fields: SetUpFields, by: KnownBrowser, parts: AccountParts): Promise<AccountResult> {
  const { browser } = by;
  const choice = await readChoice(step, fields, by.remoteAddress, parts);
  if (choice.kind === "problem") return showSetUp(step.target, step, { browser, problem: choice.problem }, parts);
  if (choice.kind === "app") return showApp({ ...step, ...choice }, { browser }, parts);
  return completeSetUp({ ...step, target: choice.target }, { credential: choice.credential, code: fields.code }, by, parts);
}

/** Takes the first code of the authenticator app. @throws SignInRefusal, HoltError */
export async function takeAppCode(step: Step<"app">, code: string, by: KnownBrowser, parts: AccountParts): Promise<AccountResult> {
  const credential = proveApp(step, code, parts);
  if (credential === undefined) return showApp(step, { browser: by.browser, problem: WRONG_APP_CODE }, parts);
  return completeSetUp(step, { credential, code: step.password.code }, by, parts);
}

function beginSetUp(target: SetUpTarget, then: Continuation, by: BeginningBrowser, parts: AccountParts): Promise<AccountResult> {
  parts.limit.take(by.remoteAddress);
  return showSetUp(target, then, { browser: by.browser }, parts);
}

async function completeSetUp(
  step: Continuation & { readonly target: SetUpTarget },
  { credential, code }: { readonly credential: NewCredential; readonly code: string },
  by: KnownBrowser,
  parts: AccountParts,
): Promise<AccountResult> {
  const { target, request, query } = step;
  const { remoteAddress, browser } = by;
  const stored = await storeCredential(target, credential, { code, remoteAddress }, parts);
  if (stored === undefined) return showSetUp(target, step, { browser, problem: WRONG_PASSWORD }, parts);
  const { identityUid, version, codes } = stored;
  parts.log.info({ identity: identityUid, target: target.kind, credential: credential.kind }, "a way to sign in was set up");
  // The invite is redeemed.
  const then = { request: request && { ...request, invite: "" }, query };
  const person = { identityUid, version, credential: credential.kind };
  if (codes === undefined) return continueSignIn(person, then, by, parts);
  return { kind: "codes", handle: await parts.steps.store({ kind: "continue", ...then, ...person }, browser), codes };
}
