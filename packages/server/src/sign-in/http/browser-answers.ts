/** Answers browsers with the outcome of a step: a redirect or a page, and the cookies of sign-in. */
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import type { Secrets } from "../../iam/secrets/secrets.ts";
import type { SignInResult } from "../sign-in-result.ts";
import { choicePage } from "./choice-page.ts";
import { type Cookie, createBrowserCookie, createProgramsCookie, type ProgramsCookie } from "./cookie.ts";
import type { Page } from "./page.ts";
import { declinedPage, elsewherePage, joinedPage, leavingPage, linkPage, questionPage, refusalPage, tokenPage } from "./pages.ts";
import { sendPage } from "./send-page.ts";

export interface OutcomeContext {
  readonly query: URLSearchParams;
  /** The path that the forms of a page lead to. */
  readonly action: string;
  /** The new value of the browser's cookie. */
  readonly browser?: string;
}

export interface BrowserAnswers {
  readonly cookie: Cookie;
  readonly programsCookie: ProgramsCookie;
  send(response: HttpResponse, outcome: SignInResult, context: OutcomeContext): void;
}

export function createBrowserAnswers(baseUrl: string, secrets: Secrets): BrowserAnswers {
  const cookie = createBrowserCookie(baseUrl);
  return {
    cookie,
    programsCookie: createProgramsCookie(baseUrl, secrets),
    send(response, outcome, { query, action, browser }) {
      if (browser !== undefined) response.setHeader("set-cookie", cookie.header(browser));
      const isRedirect = outcome.kind === "leave" || outcome.kind === "return";
      if (isRedirect && query.get("from") !== "page") redirect(response, outcome.url);
      else sendPage(response, pageOf(outcome, query, action));
    },
  };
}

function pageOf(outcome: SignInResult, query: URLSearchParams, action: string): Page {
  switch (outcome.kind) {
    case "leave":
    case "return":
      return leavingPage(outcome.url);
    case "choose":
      return choicePage({ ...outcome, action, fields: hiddenFields(query) });
    case "ask":
      return questionPage(outcome.handle, outcome.question);
    case "ask-link":
      return linkPage(outcome.handle, outcome.person);
    case "token":
      return tokenPage(outcome);
    case "elsewhere":
      return elsewherePage(outcome.offers);
    case "joined":
      return joinedPage(outcome.name, outcome.offers);
    case "declined":
      return declinedPage();
    case "refused":
      return refusalPage(outcome.refusal.status, outcome.refusal.message);
  }
}

/** The parameters that the program sent, without those that the page itself asks the person for. */
function hiddenFields(query: URLSearchParams): [string, string][] {
  const askedOnPage = new Set(["idp_id", "client_id", "connection", "from"]);
  return [["from", "page"], ...[...query].filter(([name]) => !askedOnPage.has(name))];
}

/** 303 makes the browser use GET, whatever the method was (RFC 9110 §15.4.4). */
function redirect(response: HttpResponse, location: string): void {
  send(response, 303, { type: "text/plain", text: "" }, { location, "cache-control": "no-store", "referrer-policy": "no-referrer" });
}
