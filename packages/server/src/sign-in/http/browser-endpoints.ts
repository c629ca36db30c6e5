/** The endpoints that browsers visit: sign-in itself, the answers of a person, and the form for the code of a device. */
import type { Store } from "../../db/store.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { findOrganizationProvider } from "../../iam/identities/identity-provider-record.ts";
import type { Secrets } from "../../iam/secrets/secrets.ts";
import { addProgram } from "../known-programs.ts";
import type { SignIn, SignInResult } from "../sign-in.ts";
import type { StartLimit } from "../start-limit.ts";
import { createBrowserCookie, createProgramsCookie, newBrowser } from "./cookie.ts";
import {
  choicePage,
  declinedPage,
  devicePage,
  elsewherePage,
  joinedPage,
  leavingPage,
  type Page,
  questionPage,
  refusalPage,
  tokenPage,
} from "./pages.ts";
import { sendPage } from "./send-page.ts";
import type { Endpoint, SignInExchange } from "./sign-in-exchange.ts";

export interface BrowserEndpointsOptions {
  readonly signIn: SignIn;
  /** Limits how often people enter a code that no device shows: a typing error, or a guess. */
  readonly guesses: StartLimit;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly baseUrl: string;
}

interface OutcomeContext {
  readonly query: URLSearchParams;
  /** The path that the forms of a page lead to. */
  readonly action: string;
  /** The new value of the browser's cookie. */
  readonly browser?: string;
}

/** @returns the endpoints by path */
export function createBrowserEndpoints({
  signIn,
  guesses,
  store,
  secrets,
  baseUrl,
}: BrowserEndpointsOptions): readonly (readonly [string, Endpoint])[] {
  const cookie = createBrowserCookie(baseUrl);
  const programsCookie = createProgramsCookie(baseUrl, secrets);

  function answer(response: HttpResponse, outcome: SignInResult, { query, action, browser }: OutcomeContext): void {
    if (browser !== undefined) response.setHeader("set-cookie", cookie.header(browser));
    const isRedirect = outcome.kind === "leave" || outcome.kind === "return";
    if (isRedirect && query.get("from") !== "page") redirect(response, outcome.url);
    else sendPage(response, pageOf(outcome, query, action));
  }

  async function begin(exchange: SignInExchange): Promise<void> {
    const query = queryOf(exchange);
    const browser = cookie.read(exchange.request) ?? newBrowser();
    const { remoteAddress } = exchange;
    answer(exchange.response, await signIn.begin(query, { browser, remoteAddress }), { query, action: "/oauth", browser });
  }

  async function beginDevice(exchange: SignInExchange): Promise<void> {
    const { request, response, remoteAddress } = exchange;
    const query = queryOf(exchange);
    const enteredCode = query.get("user_code");
    if (enteredCode === null) return sendPage(response, devicePage(undefined));
    const browser = cookie.read(request) ?? newBrowser();
    // Counted before the lookup, so that neither a right code nor parallel requests pass beyond the limit.
    const takeBack = guesses.take(remoteAddress);
    const outcome = await signIn.beginDevice(query, { browser, remoteAddress });
    if (outcome !== undefined) {
      takeBack();
      return answer(response, outcome, { query, action: "/oauth/device", browser });
    }
    sendPage(response, devicePage(enteredCode.slice(0, 20)));
  }

  async function comeBack(exchange: SignInExchange): Promise<void> {
    const query = queryOf(exchange);
    const { request, response } = exchange;
    const by = { browser: cookie.read(request), programs: programsCookie.read(request) };
    answer(response, await signIn.returnFromProvider(query, by), { query, action: "/oauth" });
  }

  async function takeAnswer({ request, response, state: { form } }: SignInExchange): Promise<void> {
    const outcome = await signIn.answer(form.get("handle") ?? "", form.get("answer") === "yes", cookie.read(request));
    if (outcome.kind === "return" && outcome.program !== undefined)
      response.setHeader("set-cookie", programsCookie.header(addProgram(programsCookie.read(request), outcome.program)));
    answer(response, outcome, { query: new URLSearchParams({ from: "page" }), action: "/oauth" });
  }

  async function join({ request, response, state: { form } }: SignInExchange): Promise<void> {
    const outcome = await signIn.join(form.get("handle") ?? "", form.get("organization") ?? "", cookie.read(request));
    answer(response, outcome, { query: new URLSearchParams({ from: "page" }), action: "/oauth" });
  }

  async function checkOrganization(exchange: SignInExchange): Promise<void> {
    const found = await findOrganizationProvider(store.reader, queryOf(exchange).get("name") ?? "");
    send(exchange.response, 200, { type: "application/json", text: String(found !== undefined) }, { "cache-control": "no-store" });
  }

  return [
    ["/oauth", { method: "GET", serve: begin }],
    ["/oauth/callback", { method: "GET", serve: comeBack }],
    ["/oauth/answer", { method: "POST", serve: takeAnswer }],
    ["/oauth/join", { method: "POST", serve: join }],
    ["/oauth/device", { method: "GET", serve: beginDevice }],
    ["/orgcheck", { method: "GET", serve: checkOrganization }],
  ];
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

function queryOf({ query }: SignInExchange): URLSearchParams {
  return new URLSearchParams(query);
}
