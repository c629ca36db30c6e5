/** Serves `/oauth`, everything below it, and `/orgcheck`: sign-in for browsers, and the device grant for programs. */
import type { HttpRequest, RequestHandler } from "../../http/http-exchange.ts";
import type { ProtocolFrame } from "../../http/protocol-frame.ts";
import { readForm } from "../../http/read-form.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { createStaticAsset, sendAsset } from "../../http/static-asset.ts";
import { HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { refusalFrom, SignInRefusal } from "../refusal.ts";
import { type BrowserEndpointsOptions, createBrowserEndpoints } from "./browser-endpoints.ts";
import { createDeviceEndpoints, type DeviceEndpointsOptions } from "./device-endpoints.ts";
import { refusalPage } from "./pages.ts";
import { sendPage } from "./send-page.ts";
import type { Endpoint, SignInExchange, SignInState } from "./sign-in-exchange.ts";
import { ICON, STYLE } from "./style.ts";

export interface SignInHandlerOptions extends BrowserEndpointsOptions, DeviceEndpointsOptions {
  readonly frame: ProtocolFrame;
  readonly memory: RequestMemory;
}

const UNKNOWN_PAGE = "There is no such page. Start from the program that you want to sign in, or at /oauth.";
const WRONG_METHOD = "This address is not made to be opened like this. Start from the program that you want to sign in.";

export function createSignInHandler(options: SignInHandlerOptions): RequestHandler {
  const { frame, memory, log } = options;
  const endpoints = new Map([...createBrowserEndpoints(options), ...createDeviceEndpoints(options), ...assetEndpoints()]);
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
  const icon = createStaticAsset("image/svg+xml", Buffer.from(ICON));
  return [
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
