/** Serves `/v2/`: parses the path, authenticates the caller, and hands the request to the handler of its route. */
import { actorFromPrincipal } from "../../access/actor.ts";
import { isAnonymous } from "../../access/principal.ts";
import { assertTermsAccepted, type RequiredTerms } from "../../api/call/required-terms.ts";
import type { RequestHandler } from "../../http/http-exchange.ts";
import type { Protocol, ProtocolExchange, ProtocolFrame } from "../../http/protocol-frame.ts";
import type { RegistryAuthenticator } from "../../iam/content-login/authenticate.ts";
import type { ContentCaller } from "../../iam/content-login/content-callers.ts";
import { Code, HoltError, unauthenticated } from "../../lib/errors.ts";
import { findPlace } from "../names.ts";
import { OciError } from "../oci-error.ts";
import { serveBlob } from "./blobs.ts";
import { listCatalog } from "./catalog.ts";
import { challengeOf } from "./challenge.ts";
import { responseFromError, sendOciError } from "./error.ts";
import { listHistory, listReferrers, listTags } from "./listings.ts";
import { serveManifest } from "./manifests.ts";
import { neededAccess } from "./needed-access.ts";
import { answerJson, type OciParts, type OciRequest } from "./oci-request.ts";
import { type Route, routeOf } from "./routes.ts";
import { beginUpload, serveUpload } from "./uploads.ts";

export interface OciOptions {
  readonly frame: ProtocolFrame;
  readonly parts: OciParts;
  readonly authenticator: RegistryAuthenticator;
  /** The URL at which clients reach the registry. */
  readonly registryUrl: string;
  /** The path segments that may precede `/history/{tag}`. */
  readonly historySegments: readonly string[];
  readonly requiredTerms: RequiredTerms;
}

/** `route` is undefined until the path is parsed, and for an unknown path. */
interface State {
  route: Route | undefined;
}

type Exchange = ProtocolExchange<State>;

export function createOciHandler(options: OciOptions): RequestHandler {
  const protocol: Protocol<State> = {
    name: "registry",
    storesContent: true,
    createState: () => ({ route: undefined }),
    serve: (exchange) => serve(exchange, options),
    refuse: (exchange, error) => refuse(exchange, error, options),
    logFields: ({ state: { route } }) => ({ kind: route?.kind, repository: repositoryOf(route) }),
  };
  const handle = options.frame(protocol);
  return (request, response) => {
    response.setHeader("docker-distribution-api-version", "registry/2.0");
    handle(request, response);
  };
}

async function serve(exchange: Exchange, options: OciOptions): Promise<void> {
  const { request, response, method, state } = exchange;
  const route = routeOf(exchange.path.slice("/v2".length), options.historySegments);
  state.route = route;
  const caller = await authenticate(exchange, options);
  exchange.identify(isAnonymous(caller.principal) ? undefined : caller.principal.uid);
  if (isAnonymous(caller.principal)) assertOpenToAnonymous(exchange);
  if (route === undefined) throw new OciError("NAME_UNKNOWN", "unknown path");
  const name = repositoryOf(route) ?? "";
  if (method !== "GET" && method !== "HEAD") await assertTerms(name, caller, options);
  const origin = {
    repository: name,
    remoteAddress: exchange.remoteAddress,
    userAgent: request.headers["user-agent"]?.slice(0, 256) ?? "",
    actor: { ...actorFromPrincipal(caller.principal, caller.access), remoteAddress: exchange.remoteAddress },
  };
  const query = new URLSearchParams(exchange.query);
  const transfer: Exchange["transfer"] = (work) => exchange.transfer(work);
  await dispatch({ request, response, method, name, query, caller, origin, transfer }, route, options.parts);
}

/**
 * Anonymous callers read what is public. Clients learn from the refusal of the base path that they need a token, and get
 * one without a login. The history of a tag also shows content that the tag does not have any more.
 * @throws UNAUTHENTICATED
 */
function assertOpenToAnonymous({ method, request, state: { route } }: Exchange): void {
  const isUpload = route?.kind === "uploads" || route?.kind === "upload";
  if (isUpload || (method !== "GET" && method !== "HEAD")) throw unauthenticated("log in to change content");
  const needsToken = route === undefined || route.kind === "base" || route.kind === "catalog";
  const hasToken = request.headers.authorization?.slice(0, 7).toLowerCase() === "bearer ";
  if (route?.kind === "history" || (needsToken && !hasToken))
    throw unauthenticated("log in, or get a token without a login for what is public");
}

function repositoryOf(route: Route | undefined): string | undefined {
  return route !== undefined && "name" in route ? route.name : undefined;
}

/** Does nothing for a caller without capabilities at the repository: the handler refuses such a caller, who must not learn about terms. */
async function assertTerms(name: string, { access }: ContentCaller, { parts, requiredTerms }: OciOptions): Promise<void> {
  if (requiredTerms.length === 0 || name === "") return;
  const { reader } = parts.store;
  const target = await findPlace(reader, name, access);
  const uid = target && (target.repoUid ?? target.groupUid);
  if (uid !== undefined && access.capabilitiesAt(uid) !== 0n) await assertTermsAccepted(uid, requiredTerms, reader);
}

async function authenticate({ request, remoteAddress, state }: Exchange, { authenticator }: OciOptions): Promise<ContentCaller> {
  const { authorization } = request.headers;
  const { route } = state;
  try {
    const caller = await authenticator.authenticate(authorization, remoteAddress);
    if (caller === undefined) throw unauthenticated("log in: the registry does not serve anonymous callers");
    return caller;
  } catch (error) {
    // Clients of the history conclude from DENIED that they must ask for a token for the registry.
    const isHistory = route?.kind === "history" && error instanceof HoltError && error.code === Code.UNAUTHENTICATED;
    if (isHistory && (await authenticator.isForOtherAudience(authorization)))
      throw new OciError("DENIED", "the token is for another audience");
    throw error;
  }
}

function dispatch(exchange: OciRequest, route: Route, parts: OciParts): Promise<void> | void {
  switch (route.kind) {
    case "base":
      return answerJson(exchange, {});
    case "catalog":
      return listCatalog(exchange, parts);
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

function refuse(exchange: Exchange, error: unknown, options: OciOptions): void {
  const answer = responseFromError(error, exchange.reportFault);
  const challenge = answer.status === 401 ? { "www-authenticate": challengeFor(exchange, error, options) } : {};
  sendOciError(exchange.response, { ...answer, headers: { ...answer.headers, ...challenge } });
}

function challengeFor({ request, method, query, state }: Exchange, error: unknown, { registryUrl }: OciOptions): string {
  const hasCredentials = request.headers.authorization !== undefined;
  return challengeOf({ needed: neededAccess(state.route, method, new URLSearchParams(query)), hasCredentials }, error, registryUrl);
}
