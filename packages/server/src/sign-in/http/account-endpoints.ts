/** The endpoints below `/oauth/account`, which browsers visit. */

import { readSetUpFields } from "../accounts/account-form-fields.ts";
import type { AccountBrowser, AccountResult } from "../accounts/account-result.ts";
import type { AccountSignIn } from "../accounts/account-sign-in.ts";
import type { PasswordFields } from "../accounts/own-sign-in.ts";
import type { SignInResult } from "../sign-in-result.ts";
import { accountPage } from "./account-page.ts";
import { accountSignInPage, recoverPage } from "./account-sign-in-pages.ts";
import type { BrowserAnswers, OutcomeContext } from "./browser-answers.ts";
import { newBrowser } from "./cookie.ts";
import type { Page } from "./page.ts";
import { sendPage } from "./send-page.ts";
import { appPage, codesPage, setUpPage } from "./set-up-pages.ts";
import { clientOf, type Endpoint, type SignInExchange } from "./sign-in-exchange.ts";

/** @returns the endpoints by path */
export function createAccountEndpoints(accounts: AccountSignIn, answers: BrowserAnswers): readonly (readonly [string, Endpoint])[] {
  const { cookie, programsCookie } = answers;

  function browserOf(exchange: SignInExchange): AccountBrowser {
    const { request, remoteAddress } = exchange;
    return { browser: cookie.read(request), programs: programsCookie.read(request), remoteAddress, client: clientOf(exchange) };
  }

  function answer(exchange: SignInExchange, result: AccountResult, browser?: string): void {
    const { response } = exchange;
    if (browser !== undefined) response.setHeader("set-cookie", cookie.header(browser));
    if (isAccountPage(result)) sendPage(response, accountPageOf(result));
    else answers.send(response, result, contextOf(result));
  }

  /** A page that a person opens. */
  function opening(open: (query: URLSearchParams, by: { browser: string; remoteAddress: string }) => Promise<AccountResult>): Endpoint {
    return {
      method: "GET",
      async serve(exchange) {
        const browser = cookie.read(exchange.request) ?? newBrowser();
        const { remoteAddress } = exchange;
        answer(exchange, await open(new URLSearchParams(exchange.query), { browser, remoteAddress }), browser);
      },
    };
  }

  /** The answer to a form. */
  function form(take: (form: URLSearchParams, handle: string, by: AccountBrowser) => Promise<AccountResult>): Endpoint {
    return {
      method: "POST",
      async serve(exchange) {
        const { form: fields } = exchange.state;
        answer(exchange, await take(fields, fields.get("handle") ?? "", browserOf(exchange)));
      },
    };
  }

  return [
    ["/oauth/account", opening((_query, by) => accounts.openPage(by))],
    ["/oauth/account/new", opening((query, by) => accounts.beginAccount(query, by))],
    ["/oauth/account/link", opening((query, by) => accounts.beginRecovery(query.get("token") ?? "", by))],
    ["/oauth/account/recover", opening(async () => ({ kind: "recover", problem: undefined }))],
    ["/oauth/account/recovery-code", form((fields, _handle, by) => accounts.recoverByCode(fields.get("recovery_code") ?? "", by))],
    ["/oauth/account/sign-in", form((fields, handle, by) => accounts.signIn(handle, readPasswordFields(fields), by))],
    ["/oauth/account/set-up", form((fields, handle, by) => accounts.setUp(handle, readSetUpFields(fields), by))],
    ["/oauth/account/app", form((fields, handle, by) => accounts.confirmApp(handle, fields.get("code") ?? "", by))],
    ["/oauth/account/continue", form((_fields, handle, by) => accounts.proceed(handle, by))],
    ["/oauth/account/connect", form((fields, handle, by) => accounts.link(handle, fields.get("answer") === "yes", by))],
    ["/oauth/account/change", form((fields, handle, by) => accounts.change(handle, fields, by))],
  ];
}

type AccountPageResult = Exclude<AccountResult, SignInResult>;

const ACCOUNT_PAGES: ReadonlySet<string> = new Set(["account-sign-in", "set-up", "app", "codes", "recover", "manage"]);

function isAccountPage(result: AccountResult): result is AccountPageResult {
  return ACCOUNT_PAGES.has(result.kind);
}

function accountPageOf(result: AccountPageResult): Page {
  switch (result.kind) {
    case "account-sign-in":
      return accountSignInPage(result);
    case "set-up":
      return setUpPage(result);
    case "app":
      return appPage(result);
    case "codes":
      return codesPage(result);
    case "recover":
      return recoverPage(result.problem);
    case "manage":
      return accountPage(result);
  }
}

/** The forms of a page that offers the choice again have the fields of the first one. */
function contextOf(result: SignInResult): OutcomeContext {
  const query = new URLSearchParams(result.kind === "choose" ? result.query : "");
  query.set("from", "page");
  return { query, action: query.has("user_code") ? "/oauth/device" : "/oauth" };
}

function readPasswordFields(form: URLSearchParams): PasswordFields {
  const { email, password, code, credential } = readSetUpFields(form);
  return { email, password, code, credential };
}
