/** `/oauth` and what is below it, and `/orgcheck`: sign-in for browsers, and the device grant for programs. */

import type { Store } from "../../db/store.ts";
import { type HttpRequest, type HttpResponse, type RequestHandler, send } from "../../http/http-exchange.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { createStaticAsset, sendAsset } from "../../http/static-asset.ts";
import { findIdentityProviderOfOrganization } from "../../iam/identities/identity-provider-record.ts";
import type { Log } from "../../lib/log.ts";
import type { DeviceGrant } from "../device-grant.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import type { Outcome, SignIn } from "../sign-in.ts";
import type { StartLimit } from "../start-limit.ts";
import { createBrowserCookie, newBrowser } from "./cookie.ts";
import { createDeviceEndpoints } from "./device-endpoints.ts";
import {
  choicePage,
  declinedPage,
  devicePage,
  elsewherePage,
  leavingPage,
  type Page,
  questionPage,
  refusalPage,
  tokenPage,
} from "./pages.ts";
import { readForm } from "./read-form.ts";
import { ICON, STYLE } from "./style.ts";

export interface SignInHandlerOptions {
  readonly signIn: SignIn;
  readonly deviceGrant: DeviceGrant;
  /** Of codes that no device shows: they are guesses, or typed wrong. */
  readonly guesses: StartLimit;
  readonly store: Store;
  readonly memory: RequestMemory;
  readonly log: Log;
  readonly baseUrl: string;
}

/** A style sheet and an icon of our own, forms to ourselves, and nothing else. */
const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

export function createSignInHandler(options: SignInHandlerOptions): RequestHandler {
  const { signIn, guesses, store, memory, log, baseUrl } = options;
  const cookie = createBrowserCookie(baseUrl);
  const device = createDeviceEndpoints(options);
  const style = createStaticAsset("text/css; charset=utf-8", Buffer.from(STYLE));
  const icon = createStaticAsset("image/svg+xml", Buffer.from(ICON));

  async function begin(request: HttpRequest, response: HttpResponse): Promise<void> {
    const query = queryOf(request);
    const browser = cookie.read(request) ?? newBrowser();
    answer(response, await signIn.begin(query, browser), { query, action: "/oauth", browser });
  }

  async function beginDevice(request: HttpRequest, response: HttpResponse): Promise<void> {
    const query = queryOf(request);
    const typed = query.get("user_code");
    if (typed === null) return sendPage(response, devicePage(undefined));
    const browser = cookie.read(request) ?? newBrowser();
    const outcome = await signIn.beginDevice(query, browser);
    if (outcome !== undefined) return answer(response, outcome, { query, action: "/oauth/device", browser });
    guesses.take();
    sendPage(response, devicePage(typed.slice(0, 20)));
  }

  async function comeBack(request: HttpRequest, response: HttpResponse): Promise<void> {
    const query = queryOf(request);
    answer(response, await signIn.comeBack(query, cookie.read(request)), { query, action: "/oauth" });
  }

  async function takeAnswer(request: HttpRequest, response: HttpResponse): Promise<void> {
    const form = await readForm(request, memory);
    const outcome = await signIn.answer(form.get("handle") ?? "", form.get("answer") === "yes", cookie.read(request));
    answer(response, outcome, { query: new URLSearchParams({ from: "page" }), action: "/oauth" });
  }

  interface Context {
    readonly query: URLSearchParams;
    readonly action: string;
    /** What the browser is to hold from now on. */
    readonly browser?: string;
  }

  function answer(response: HttpResponse, outcome: Outcome, { query, action, browser }: Context): void {
    if (browser !== undefined) response.setHeader("set-cookie", cookie.header(browser));
    const isRedirect = outcome.kind === "leave" || outcome.kind === "return";
    if (isRedirect && query.get("from") !== "page") redirect(response, outcome.url);
    else sendPage(response, pageOf(outcome, query, action));
  }

  async function orgCheck(request: HttpRequest, response: HttpResponse): Promise<void> {
    const found = await findIdentityProviderOfOrganization(store.reader, queryOf(request).get("name") ?? "");
    send(response, 200, "application/json", String(found !== undefined), { "cache-control": "no-store" });
  }

  type Action = (request: HttpRequest, response: HttpResponse) => Promise<void> | void;
  const routes = new Map<string, readonly [method: "GET" | "POST", action: Action]>([
    ["/oauth", ["GET", begin]],
    ["/oauth/callback", ["GET", comeBack]],
    ["/oauth/answer", ["POST", takeAnswer]],
    ["/oauth/device", ["GET", beginDevice]],
    ["/oauth/device_authorization", ["POST", device.authorize]],
    ["/oauth/token", ["POST", device.token]],
    ["/oauth/style.css", ["GET", (request, response) => sendAsset(request, response, style)]],
    ["/oauth/icon.svg", ["GET", (request, response) => sendAsset(request, response, icon)]],
    ["/orgcheck", ["GET", orgCheck]],
  ]);

  async function handle(request: HttpRequest, response: HttpResponse): Promise<void> {
    try {
      const [method, action] = routes.get(pathOf(request)) ?? [];
      if (method === undefined || action === undefined)
        throw new SignInRefusal(404, "There is no such page. Start from the program that you want to sign in, or at /oauth.");
      if (request.method !== method) {
        response.setHeader("allow", method);
        throw new SignInRefusal(405, "This address is not made to be opened like this. Start from the program that you want to sign in.");
      }
      await action(request, response);
    } catch (error) {
      const { status, message } = refusalFrom(error, log);
      sendPage(response, refusalPage(status, message));
    }
  }
  return (request, response) => void handle(request, response);
}

function pageOf(outcome: Outcome, query: URLSearchParams, action: string): Page {
  switch (outcome.kind) {
    case "leave":
    case "return":
      return leavingPage(outcome.url);
    case "choose":
      return choicePage({ ...outcome, action, fields: carried(query) });
    case "ask":
      return questionPage(outcome.handle, outcome.question);
    case "token":
      return tokenPage(outcome.token, outcome.expiry, outcome.joined);
    case "elsewhere":
      return elsewherePage();
    case "declined":
      return declinedPage();
    case "refused":
      return refusalPage(outcome.refusal.status, outcome.refusal.message);
  }
}

/** What the person was sent with, without what the page itself asks. */
function carried(query: URLSearchParams): [string, string][] {
  const asked = new Set(["idp_id", "client_id", "connection", "from"]);
  return [["from", "page"], ...[...query].filter(([name]) => !asked.has(name))];
}

function sendPage(response: HttpResponse, { status, body }: Page): void {
  send(response, status, "text/html; charset=utf-8", body, PAGE_HEADERS);
}

/** 303: whatever the method was, what comes next is read (RFC 9110 §15.4.4). */
function redirect(response: HttpResponse, location: string): void {
  send(response, 303, "text/plain", "", { location, "cache-control": "no-store", "referrer-policy": "no-referrer" });
}

function pathOf({ url = "" }: HttpRequest): string {
  return url.split("?", 1)[0] ?? "";
}

function queryOf({ url = "" }: HttpRequest): URLSearchParams {
  const query = url.indexOf("?");
  return new URLSearchParams(query < 0 ? "" : url.slice(query + 1));
}
