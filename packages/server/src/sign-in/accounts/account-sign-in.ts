/** Runs the pages of local accounts step by step, without HTTP: signing in, and setting up a way to sign in. */
import type { BeginningBrowser } from "../browser.ts";
import { catchRefusal } from "../catch-refusal.ts";
import { LOST_STEP, SignInRefusal } from "../refusal.ts";
import { type Goal, parseSignInRequest } from "../request.ts";
import { changeAccount } from "./account-changes.ts";
import type { SetUpFields } from "./account-form-fields.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountBrowser, AccountResult } from "./account-result.ts";
import type { AccountStep } from "./account-step.ts";
import { takeLinkAnswer } from "./link-step.ts";
import { askToSignIn, continueSignIn, type PasswordFields, signInWithAccount } from "./own-sign-in.ts";
import { beginNewAccount, beginRecoveryByCode, beginRecoveryByLink, takeAppCode, takeChoice } from "./set-up.ts";

export interface AccountSignIn {
  /** Shows the forms that lead to the page of the account. */
  openPage(by: BeginningBrowser): Promise<AccountResult>;
  signIn(handle: string, fields: PasswordFields, by: AccountBrowser): Promise<AccountResult>;
  /** Begins an account for an invited person. */
  beginAccount(query: URLSearchParams, by: BeginningBrowser): Promise<AccountResult>;
  /** Begins a recovery by a link. */
  beginRecovery(token: string, by: BeginningBrowser): Promise<AccountResult>;
  /** Begins a recovery by a recovery code. */
  recoverByCode(code: string, by: AccountBrowser): Promise<AccountResult>;
  setUp(handle: string, fields: SetUpFields, by: AccountBrowser): Promise<AccountResult>;
  /** Proves the authenticator app by its first code. */
  confirmApp(handle: string, code: string, by: AccountBrowser): Promise<AccountResult>;
  /** Goes on when the person has kept the recovery codes. */
  proceed(handle: string, by: AccountBrowser): Promise<AccountResult>;
  /** Links the account whose page is open with the person who has signed in at a provider. */
  link(handle: string, isYes: boolean, by: AccountBrowser): Promise<AccountResult>;
  /** Changes the account whose page is open. */
  change(handle: string, form: URLSearchParams, by: AccountBrowser): Promise<AccountResult>;
}

export function createAccountSignIn(parts: AccountParts): AccountSignIn {
  const refusing = (work: (knowGoal: (goal: Goal | undefined) => void) => Promise<AccountResult>) =>
    catchRefusal<AccountResult>(parts.log, work);

  /** Takes the stored step of an answered page. A step of another browser, or one that was answered already, ends here. */
  function answering<K extends AccountStep["kind"]>(
    kind: K,
    handle: string,
    by: AccountBrowser,
    work: (step: Extract<AccountStep, { kind: K }>, by: AccountBrowser & { readonly browser: string }) => Promise<AccountResult>,
  ): Promise<AccountResult> {
    return refusing(async (knowGoal) => {
      const { browser } = by;
      const step = await parts.steps.take(kind, handle, browser);
      if (step === undefined || browser === undefined) throw new SignInRefusal(400, LOST_STEP);
      knowGoal(step.request?.goal);
      return work(step, { ...by, browser });
    });
  }

  return {
    openPage: (by) => refusing(() => askToSignIn(by, parts)),

    signIn: (handle, fields, by) => answering("sign-in", handle, by, (step, known) => signInWithAccount(step, fields, known, parts)),

    beginAccount: (query, by) =>
      refusing(async (knowGoal) => {
        const request = parseSignInRequest(query);
        knowGoal(request.goal);
        return beginNewAccount(request, query.toString(), by, parts);
      }),

    beginRecovery: (token, by) => refusing(() => beginRecoveryByLink(token, by, parts)),

    recoverByCode: (code, by) =>
      refusing(async () => {
        const { browser } = by;
        if (browser === undefined) throw new SignInRefusal(400, LOST_STEP);
        return beginRecoveryByCode(code, { ...by, browser }, parts);
      }),

    setUp: (handle, fields, by) => answering("set-up", handle, by, (step, known) => takeChoice(step, fields, known, parts)),

    confirmApp: (handle, code, by) => answering("app", handle, by, (step, known) => takeAppCode(step, code, known, parts)),

    proceed: (handle, by) => answering("continue", handle, by, (step, known) => continueSignIn(step, step, known, parts)),

    link: (handle, isYes, by) => answering("link", handle, by, (step, { browser }) => takeLinkAnswer(step, isYes, browser, parts)),

    change: (handle, form, by) => answering("manage", handle, by, (step, known) => changeAccount(step, form, known, parts)),
  };
}
