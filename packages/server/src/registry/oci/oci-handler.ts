/** `/v2/`: who is calling, what it is about, the answer or the error. What repositories are is not known here. */
import { assertTermsAccepted, type RequiredTerms } from "../../api/call/required-terms.ts";
import { cutOffSoon } from "../../http/body-time.ts";
import type { HttpRequest, HttpResponse } from "../../http/http-exchange.ts";
import type { RegistryAuthenticator } from "../../iam/content-login/authenticate.ts";
import { Code, HoltError, resourceExhausted, unauthenticated } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { findPlace } from "../names.ts";
import { OciError } from "../oci-error.ts";
import { InsufficientScope, type RegistryAction, type RegistryCaller } from "../open-repo.ts";
import { serveBlob } from "./blobs.ts";
import { answerFromError, type ErrorAnswer, sendOciError } from "./error.ts";
import { listHistory, listReferrers, listTags } from "./listings.ts";
import { serveManifest } from "./manifests.ts";
import { answerJson, type OciParts, type OciRequest } from "./oci-request.ts";
import { type Route, routeOf } from "./routes.ts";
import { scopeText } from "./scope.ts";
import { beginUpload, serveUpload } from "./uploads.ts";

export interface OciOptions {
  readonly parts: OciParts;
  readonly authenticator: RegistryAuthenticator;
  readonly log: Log;
  /** Where the registry is for its clients. */
  readonly registryUrl: string;
  /** Before `/history/{tag}`. */
  readonly historySegments: readonly string[];
  readonly maxConcurrentCalls: number;
  readonly requiredTerms: RequiredTerms;
}

/** Answers everything below `/v2/`; the promise never rejects. */
export function createOciHandler(options: OciOptions): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { log, maxConcurrentCalls } = options;
  let running = 0;
  return async (request, response) => {
    const started = performance.now();
    const trace: Trace = { route: undefined, principal: undefined };
    running++;
    response.setHeader("docker-distribution-api-version", "registry/2.0");
    try {
      if (running > maxConcurrentCalls) throw resourceExhausted("the server is at its limit of concurrent calls; try again shortly", 1);
      await serve(request, response, options, trace);
    } catch (error) {
      refuse(request, response, error, trace, options);
    } finally {
      running--;
      logRequest(log, request, response, trace, started);
    }
  };
}

interface Trace {
  route: Route | undefined;
  principal: string | undefined;
}

async function serve(request: HttpRequest, response: HttpResponse, options: OciOptions, trace: Trace): Promise<void> {
  const url = request.url ?? "";
  const mark = url.indexOf("?");
  const route = routeOf((mark < 0 ? url : url.slice(0, mark)).slice("/v2".length), options.historySegments);
  trace.route = route;
  const caller = await authenticate(request, route, options);
  trace.principal = caller.principal.uid;
  if (route === undefined) throw new OciError("NAME_UNKNOWN", "there is nothing of that form");
  const origin = {
    repository: "name" in route ? route.name : "",
    remoteAddress: request.socket?.remoteAddress ?? "",
    userAgent: request.headers["user-agent"]?.slice(0, 256) ?? "",
    actor: { subject: caller.principal.uid, act: caller.principal.actor },
  };
  if (!["GET", "HEAD"].includes(request.method ?? "")) await assertTerms(origin.repository, caller, options);
  const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
  await dispatch({ request, response, method: request.method ?? "", name: origin.repository, query, caller, origin }, route, options.parts);
}

/** Whoever holds nothing at the repository is refused by its handler, and learns nothing of what was accepted. */
async function assertTerms(name: string, { access }: RegistryCaller, { parts, requiredTerms }: OciOptions): Promise<void> {
  if (requiredTerms.length === 0 || name === "") return;
  const { reader } = parts.store;
  const place = await findPlace(reader, name, access);
  const uid = place && (place.repoUid ?? place.groupUid);
  if (uid !== undefined && access.capabilitiesAt(uid) !== 0n) await assertTermsAccepted(uid, requiredTerms, reader);
}

async function authenticate(request: HttpRequest, route: Route | undefined, { authenticator }: OciOptions): Promise<RegistryCaller> {
  const { authorization } = request.headers;
  try {
    const caller = await authenticator.authenticate(authorization);
    if (caller === undefined) throw unauthenticated("log in: anonymous callers may do nothing here");
    return caller;
  } catch (error) {
    // Its clients know by this that they have to ask for a token for the registry.
    const isHistory = route?.kind === "history" && error instanceof HoltError && error.code === Code.UNAUTHENTICATED;
    if (isHistory && (await authenticator.isForAnother(authorization))) throw new OciError("DENIED", "the token is for another audience");
    throw error;
  }
}

function dispatch(exchange: OciRequest, route: Route, parts: OciParts): Promise<void> | void {
  switch (route.kind) {
    case "base":
      return answerJson(exchange, {});
    case "manifest":
      return serveManifest(exchange, route.reference, parts);
    case "blob":
      return serveBlob(exchange, route.digest, parts);
    case "uploads":
      return beginUpload(exchange, parts);
    case "upload":
      return serveUpload(exchange, route.upload, parts);
    case "tags":
      return listTags(exchange, parts);
    case "referrers":
      return listReferrers(exchange, route.digest, parts);
    case "history":
      return listHistory(exchange, route.tag, parts);
  }
}

function refuse(request: HttpRequest, response: HttpResponse, error: unknown, { route }: Trace, options: OciOptions): void {
  const answer = answerFromError(error, options.log);
  const headers = { ...answer.headers, ...challengeOf(answer, error, request, route, options) };
  if (error instanceof HoltError && error.details.retryAfterSeconds !== undefined)
    headers["retry-after"] = String(error.details.retryAfterSeconds);
  if (response.headersSent) return void response.destroy();
  sendOciError(response, { ...answer, headers });
  cutOffSoon(request);
}

/** Where and for what to get a token (Docker registry token specification, RFC 6750 §3). */
function challengeOf(
  { status }: ErrorAnswer,
  error: unknown,
  { method = "", headers }: HttpRequest,
  route: Route | undefined,
  { registryUrl }: OciOptions,
): Record<string, string> {
  if (status !== 401) return {};
  const parameters: [string, string][] = [
    ["realm", `${registryUrl}/token`],
    ["service", new URL(registryUrl).host],
  ];
  if (route !== undefined && "name" in route && /^[a-z0-9._/-]+$/.test(route.name))
    parameters.push(["scope", scopeText(route.name, actionOf(method))]);
  if (error instanceof InsufficientScope) parameters.push(["error", "insufficient_scope"]);
  else if (headers.authorization !== undefined) parameters.push(["error", "invalid_token"]);
  return { "www-authenticate": `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(",")}` };
}

function actionOf(method: string): RegistryAction {
  if (method === "GET" || method === "HEAD") return "pull";
  return method === "DELETE" ? "delete" : "push";
}

function logRequest(log: Log, { method, socket }: HttpRequest, response: HttpResponse, trace: Trace, started: number): void {
  const { route, principal } = trace;
  const ms = Math.round((performance.now() - started) * 1000) / 1000;
  const line = { method, status: response.statusCode, ms, principal, remote: socket?.remoteAddress };
  log.info({ ...line, kind: route?.kind, repository: route !== undefined && "name" in route ? route.name : undefined }, "registry");
}
