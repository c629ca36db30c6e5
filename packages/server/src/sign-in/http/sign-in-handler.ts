/** Serves `/oauth`, everything below it, and `/orgcheck`: sign-in for browsers, and the device grant for programs. */
import type { HttpRequest, RequestHandler } from "../../http/http-exchange.ts";
import type { ProtocolFrame } from "../../http/protocol-frame.ts";
import { readForm } from "../../http/read-form.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { createStaticAsset, sendAsset } from "../../http/static-asset.ts";
import type { Secrets } from "../../iam/secrets/secrets.ts";
import { HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { programFiles } from "../../lib/program-files.ts";
import type { AccountSignIn } from "../accounts/account-sign-in.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import { createAccountEndpoints } from "./account-endpoints.ts";
import { createBrowserAnswers } from "./browser-answers.ts";
import { type BrowserEndpointsOptions, createBrowserEndpoints } from "./browser-endpoints.ts";
import { type ConfirmParts, createConfirmEndpoints } from "./confirm-endpoints.ts";
import { createDeviceEndpoints, type DeviceEndpointsOptions } from "./device-endpoints.ts";
import { createLogoEndpoint } from "./logo-endpoint.ts";
import { refusalPage } from "./pages.ts";
import { sendPage } from "./send-page.ts";
import { createSessionEndpoints, type SessionEndpointsOptions } from "./session-endpoints.ts";
import type { Endpoint, SignInExchange, SignInState } from "./sign-in-exchange.ts";
import { ICON, STYLE } from "./style.ts";

export interface SignInHandlerOptions extends BrowserEndpointsOptions, DeviceEndpointsOptions, SessionEndpointsOptions {
  readonly secrets: Secrets;
  /** Undefined if this server has no accounts of its own. */
  readonly accounts: AccountSignIn | undefined;
  readonly frame: ProtocolFrame;
  readonly memory: RequestMemory;
  readonly confirmation: ConfirmParts;
}

const UNKNOWN_PAGE = "There is no such page. Start from the program that you want to sign in, or at /oauth.";
const WRONG_METHOD = "This address is not made to be opened like this. Start from the program that you want to sign in.";

export function createSignInHandler(options: SignInHandlerOptions): RequestHandler {
  const { frame, memory, log } = options;
  const answers = createBrowserAnswers(options.baseUrl, options.secrets);
  const ofAccounts =
    options.accounts === undefined
      ? []
      : [...createAccountEndpoints(options.accounts, answers), ...createConfirmEndpoints(options.confirmation)];
  const ofBrowsers = [...createBrowserEndpoints(options, answers), ...ofAccounts, ...createLogoEndpoint(options.store)];
  const ofPrograms = [...createDeviceEndpoints(options), ...createSessionEndpoints(options)];
  const endpoints = new Map([...ofBrowsers, ...ofPrograms, ...assetEndpoints()]);
  return frame<SignInState>({
    name: "sign-in",
    createState: ({ url = "" }) => ({ endpoint: endpoints.get(url.split("?", 1)[0] ?? ""), form: new URLSearchParams() }),
    async read({ request, response, method, state }) {
      if (method !== "POST" || state.endpoint?.method !== "POST") return;
      assertForm(request);
      state.form = await readForm(request, response, memory);
    },
    serve,
    refuse: (exchange, error) => refuse(exchange, error, log),
    // Not the query, which has codes and states.
    logFields: ({ path }) => ({ path }),
  });
}

function assetEndpoints(): readonly (readonly [string, Endpoint])[] {
  const style = createStaticAsset("text/css; charset=utf-8", Buffer.from(STYLE));
  const script = createStaticAsset("text/javascript; charset=utf-8", programFiles("sign-in", () => import.meta.dirname).read("passkey.js"));
  const icon = createStaticAsset("image/svg+xml", Buffer.from(ICON));
  return [
    ["/oauth/passkey.js", { method: "GET", serve: ({ request, response }) => sendAsset(request, response, script) }],
    ["/oauth/style.css", { method: "GET", serve: ({ request, response }) => sendAsset(request, response, style) }],
    ["/oauth/icon.svg", { method: "GET", serve: ({ request, response }) => sendAsset(request, response, icon) }],
  ];
}

/** @throws SignInRefusal 415 */
function assertForm({ headers }: HttpRequest): void {
  const type = String(headers["content-type"] ?? "").split(";", 1)[0] ?? "";
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") throw new SignInRefusal(415, "This address takes forms only.");
}

function serve(exchange: SignInExchange): Promise<void> | void {
  const { response, method, state } = exchange;
  const { endpoint } = state;
  exchange.identify(undefined);
  if (endpoint === undefined) return sendPage(response, refusalPage(404, UNKNOWN_PAGE));
  if (method === endpoint.method) return endpoint.serve(exchange);
  response.setHeader("allow", endpoint.method);
  sendPage(response, refusalPage(405, WRONG_METHOD));
}

function refuse(exchange: SignInExchange, error: unknown, log: Log): void {
  const { response, state } = exchange;
  if (error instanceof HoltError && error.details.retryAfterSeconds !== undefined)
    response.setHeader("retry-after", String(error.details.retryAfterSeconds));
  if (state.endpoint?.refuse === undefined) {
    const { status, message } = refusalFrom(error, log);
    sendPage(response, refusalPage(status, message));
  } else {
    state.endpoint.refuse(exchange, error);
  }
}
