/** Runs the pages of local accounts step by step, without HTTP: signing in, and setting up a way to sign in. */
import { accountVersion, personFromAccount } from "../../iam/accounts/account-record.ts";
import type { NewCredential } from "../../iam/accounts/credentials.ts";
import { NeedsPassword } from "../../iam/accounts/local-accounts.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { catchRefusal } from "../catch-refusal.ts";
import { SignInRefusal } from "../refusal.ts";
import { parseSignInRequest, type SignInRequest } from "../request.ts";
import type { Beginner, ReturningBrowser, SignInResult } from "../sign-in.ts";
import type { AccountForm } from "./account-form.ts";
import type { SetUpFields } from "./account-form-fields.ts";
import { type AccountPage, type AccountPages, type CodesPage, findOpenAccount } from "./account-page.ts";
import type { AccountParts } from "./account-parts.ts";
import type { AccountStep, Continuation, ProvenPerson, SetUpTarget } from "./account-step.ts";
import { linkSignedInPerson } from "./link-step.ts";
import type { AppPage, SetUp, SetUpPage } from "./set-up.ts";
import { newAccountTarget, recoveryTarget } from "./set-up-target.ts";

export type AccountResult =
  | SignInResult
  /** Signs in to open the page of the account. */
  | { readonly kind: "account-sign-in"; readonly accounts: AccountForm }
  | SetUpPage
  | AppPage
  | CodesPage
  | { readonly kind: "recover"; readonly problem: string | undefined }
  | AccountPage;

/** A browser on one of the account's pages. */
export interface AccountBrowser extends ReturningBrowser {
  readonly remoteAddress: string | undefined;
}

export interface PasswordFields {
  readonly email: string;
  readonly password: string;
  readonly code: string;
  /** The browser's answer with a passkey; empty for a password. */
  readonly credential: string;
}

export interface AccountSignIn {
  /** Shows the forms that lead to the page of the account. */
  openPage(by: Beginner): Promise<AccountResult>;
  signIn(handle: string, fields: PasswordFields, by: AccountBrowser): Promise<AccountResult>;
  /** Begins an account for an invited person. */
  beginAccount(query: URLSearchParams, by: Beginner): Promise<AccountResult>;
  /** Begins a recovery by a link. */
  beginRecovery(token: string, by: Beginner): Promise<AccountResult>;
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

const LOST_STEP =
  "This page is too old, was used already, or was opened in another browser. Start again from where you began, and allow cookies of this site.";
const WRONG = "The email address, the password or the code is wrong. A code works once: wait for the next one.";
const WRONG_PASSKEY = "This passkey does not belong to an account here, or it was removed. Choose another one, or another way to sign in.";
const CLONED =
  "This passkey was refused: it looks as if it exists twice. Somebody may have copied it. Sign in in another way, remove it at /oauth/account, and tell your administrator.";
const DISABLED = "This account is disabled. Ask an administrator of your organization.";
const WRONG_LINK = "This link does not exist, was used already, or has expired. Ask for a new one.";
const WRONG_CODE = "This is not one of your recovery codes, or it was used already.";
const NEEDS_PASSWORD =
  "Your account has a password. Sign in with your email address and password, and use the recovery code as the code there.";

export function createAccountSignIn(parts: AccountParts, setUps: SetUp, pages: AccountPages): AccountSignIn {
  const { store, clock, log, limit, steps, localAccounts, signIn, offerAccounts, baseUrl } = parts;

  /** A stolen step of another browser, or one that was answered, ends here. */
  async function take<K extends AccountStep["kind"]>(kind: K, handle: string, { browser }: AccountBrowser) {
    const step = await steps.take(kind, handle, browser);
    if (step === undefined || browser === undefined) throw new SignInRefusal(400, LOST_STEP);
    return { step, browser };
  }

  function refusing(work: (know: (request: SignInRequest | undefined) => void) => Promise<AccountResult>): Promise<AccountResult> {
    let request: SignInRequest | undefined;
    return catchRefusal<AccountResult>(
      log,
      () => request?.goal,
      () =>
        work((known) => {
          request = known;
        }),
    );
  }

  async function signInAgain(then: Continuation, by: Beginner, problem: string): Promise<AccountResult> {
    const { request, query } = then;
    const accounts = await offerAccounts({ request, query }, by, problem);
    if (accounts === undefined) throw new SignInRefusal(403, problem);
    return request === undefined ? { kind: "account-sign-in", accounts } : signIn.chooseAgain({ request, query }, accounts);
  }

  async function proceedAs(
    { identityUid, version, credential }: ProvenPerson,
    { request }: Continuation,
    by: AccountBrowser,
  ): Promise<AccountResult> {
    const account = await findOpenAccount(store.reader, identityUid);
    if (account === undefined) throw new SignInRefusal(403, DISABLED);
    if (account.update_time !== version) throw new SignInRefusal(400, LOST_STEP);
    if (request === undefined) return pages.show(identityUid, by.browser ?? "");
    return signIn.continueAs(personFromAccount(account, baseUrl, credential), request, by);
  }

  async function beginSetUp(target: SetUpTarget, then: Continuation, by: Beginner): Promise<AccountResult> {
    limit.take(by.remoteAddress);
    return setUps.ask(target, then, by.browser);
  }

  async function give(step: Continuation & { target: SetUpTarget }, credential: NewCredential, by: AccountBrowser, code: string) {
    const { target, request, query } = step;
    const { remoteAddress, browser = "" } = by;
    const given = await setUps.give(target, credential, { code, remoteAddress });
    if (given === undefined) return setUps.ask(target, step, browser, WRONG);
    const { identityUid, codes } = given;
    log.info({ identity: identityUid, target: target.kind, credential: credential.kind }, "a way to sign in was set up");
    // The invite is redeemed.
    const then = { request: request && { ...request, invite: "" }, query };
    const person = { identityUid, version: await accountVersion(store.reader, identityUid), credential: credential.kind };
    if (codes === undefined) return proceedAs(person, then, by);
    return { kind: "codes", handle: await steps.store({ kind: "continue", ...then, ...person }, browser), codes } as const;
  }

  return {
    openPage: (by) =>
      refusing(async () => {
        const accounts = await offerAccounts({ request: undefined, query: "" }, by);
        if (accounts === undefined)
          throw new SignInRefusal(404, "Nobody has an account here yet. Open the link that you were invited with.");
        return { kind: "account-sign-in", accounts };
      }),

    signIn: (handle, { email, password, code, credential }, by) =>
      refusing(async (know) => {
        const { step, browser } = await take("sign-in", handle, by);
        know(step.request);
        const isPasskey = credential !== "";
        const account = isPasskey
          ? await localAccounts.checkPasskey(credential, step.challenge)
          : await localAccounts.checkPassword({ email, password, code, remoteAddress: by.remoteAddress });
        if (account === "cloned") return signInAgain(step, { ...by, browser }, CLONED);
        if (account === undefined) return signInAgain(step, { ...by, browser }, isPasskey ? WRONG_PASSKEY : WRONG);
        const { identity_uid: identityUid } = account;
        const version = await accountVersion(store.reader, identityUid);
        return proceedAs({ identityUid, version, credential: isPasskey ? "passkey" : "password" }, step, by);
      }),

    beginAccount: (query, by) =>
      refusing(async (know) => {
        const request = parseSignInRequest(query);
        know(request);
        const target = await newAccountTarget(store.reader, request.invite, clock.now());
        return beginSetUp(target, { request, query: query.toString() }, by);
      }),

    beginRecovery: (token, by) =>
      refusing(async () => {
        const target = await recoveryTarget(store.reader, sha256Hex(token), clock.now());
        if (target === undefined) throw new SignInRefusal(404, WRONG_LINK);
        return beginSetUp(target, { request: undefined, query: "" }, by);
      }),

    recoverByCode: (code, by) =>
      refusing(async () => {
        const { browser } = by;
        if (browser === undefined) throw new SignInRefusal(400, LOST_STEP);
        try {
          const recovery = await localAccounts.startRecovery(code, by.remoteAddress);
          if (recovery === undefined) return { kind: "recover", problem: WRONG_CODE };
          return await beginSetUp({ kind: "recover", recovery }, { request: undefined, query: "" }, { ...by, browser });
        } catch (error) {
          if (error instanceof NeedsPassword) return { kind: "recover", problem: NEEDS_PASSWORD };
          throw error;
        }
      }),

    setUp: (handle, fields, by) =>
      refusing(async (know) => {
        const { step, browser } = await take("set-up", handle, by);
        know(step.request);
        const chosen = await setUps.read(step, fields, by.remoteAddress);
        if (chosen.kind === "problem") return setUps.ask(step.target, step, browser, chosen.problem);
        if (chosen.kind === "app") return setUps.askForApp({ ...step, ...chosen }, browser);
        return give({ ...step, target: chosen.target }, chosen.credential, by, fields.code);
      }),

    confirmApp: (handle, code, by) =>
      refusing(async (know) => {
        const { step, browser } = await take("app", handle, by);
        know(step.request);
        const credential = setUps.proveApp(step, code);
        if (credential === undefined)
          return setUps.askForApp(step, browser, "This is not the code that the app shows now. Try the next one.");
        return give(step, credential, by, step.password.code);
      }),

    proceed: (handle, by) =>
      refusing(async (know) => {
        const { step } = await take("continue", handle, by);
        know(step.request);
        return proceedAs(step, step, by);
      }),

    link: (handle, isYes, by) =>
      refusing(async () => {
        const { step, browser } = await take("link", handle, by);
        const { identityUid } = step.account;
        if (!isYes) return pages.show(identityUid, browser, { notice: "Nothing was linked." });
        const person = await linkSignedInPerson(step, parts);
        log.info({ identity: identityUid, provider: person.member.provider.uid }, "an account was linked");
        return pages.show(identityUid, browser, { notice: "Your account is linked. You can now sign in through your organization, too." });
      }),

    change: (handle, form, by) =>
      refusing(async () => {
        const { step, browser } = await take("manage", handle, by);
        return pages.change(step, form, { ...by, browser });
      }),
  };
}
