/** The table of everything that is not described by the contract; the rest of the paths is REST. */

import { FEEDS_PATH } from "../advisories/feeds/http/feed-path.ts";
import type { Health } from "../api/grpc/health.ts";
import type { OidcHandlers } from "../iam/tokens/oidc.ts";
import { Code, HoltError } from "../lib/errors.ts";
import { type HttpRequest, type HttpResponse, type RequestHandler, send } from "./http-exchange.ts";
import type { TransportLimits } from "./transport-limits.ts";

export interface RouterOptions {
  readonly health: Health;
  readonly oidc: OidcHandlers;
  readonly openapi: RequestHandler;
  /** Gets `/docs` and everything below. */
  readonly docs: RequestHandler;
  readonly rest: RequestHandler;
  /** Gets `/v2` and everything below. */
  readonly oci: RequestHandler;
  /** Gets `/token`. */
  readonly token: RequestHandler;
  /** Gets everything below `/libraries/python` and `/libraries/java`; what else is below `/libraries` is the API's. */
  readonly libraries: RequestHandler;
  /** Gets everything below `/holt/v1/feeds`. */
  readonly feeds: RequestHandler;
  /** Gets everything below `/scim/v2`. */
  readonly scim: RequestHandler;
  /** Gets `/oauth`, everything below, and `/orgcheck`. */
  readonly signIn: RequestHandler;
  /** Answers with an error in the form of REST, but with this HTTP status. */
  readonly refuse: (response: HttpResponse, status: number, error: HoltError) => void;
  readonly limits: TransportLimits;
}

export function createRouter(options: RouterOptions): RequestHandler {
  const { health, oidc, openapi, docs, rest, oci, token, libraries, feeds, scim, signIn, refuse, limits } = options;
  const table = new Map<string, RequestHandler>([
    ["/", describe],
    ["/healthz", (_request, response) => send(response, 200, "text/plain", "ok\n")],
    ["/readyz", (_request, response) => void answerReady(health, response)],
    ["/openapi.json", openapi],
    ["/docs", docs],
    ["/.well-known/openid-configuration", oidc.discovery],
    ["/.well-known/jwks.json", oidc.jwks],
  ]);

  return (request, response) => {
    const url = request.url ?? "";
    if (Buffer.byteLength(url) > limits.urlBytes) {
      return refuse(
        response,
        414,
        new HoltError(Code.INVALID_ARGUMENT, `Invalid argument: the URL is longer than ${limits.urlBytes} bytes`),
      );
    }
    const path = pathOf(url);
    if (path.startsWith("/v2/") || path === "/v2") return oci(request, response);
    if (path === "/token") return token(request, response);
    if (path.startsWith("/libraries/python/") || path.startsWith("/libraries/java/")) return libraries(request, response);
    if (path.startsWith(FEEDS_PATH)) return feeds(request, response);
    if (path.startsWith("/scim/v2/")) return scim(request, response);
    if (path === "/oauth" || path.startsWith("/oauth/") || path === "/orgcheck") return signIn(request, response);
    const handler = table.get(path) ?? (path.startsWith("/docs/") ? docs : undefined);
    if (handler === undefined) rest(request, response);
    else if (isRead(request)) handler(request, response);
    else refuseMethod(response);
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

function isRead({ method }: HttpRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function refuseMethod(response: HttpResponse): void {
  send(response, 405, "text/plain", "Only GET and HEAD are answered here.\n", { allow: "GET, HEAD" });
}

function describe(_request: HttpRequest, response: HttpResponse): void {
  const what = {
    name: "holt",
    description: "A platform-management server: REST, gRPC, gRPC-Web and Connect on this port.",
    docs: "/docs",
    openapi: "/openapi.json",
  };
  send(response, 200, "application/json", `${JSON.stringify(what)}\n`);
}

/** Not part of any cache: the answer is about now. */
async function answerReady(health: Health, response: HttpResponse): Promise<void> {
  const problem = await health.problem();
  send(response, problem === undefined ? 200 : 503, "text/plain", `${problem ?? "ok"}\n`, { "cache-control": "no-store" });
}
