/** `/holt/v1/feeds/…`: advisories of a group in the formats that other tools read. Files, not calls of the contract: who may read them, and the answer or the error. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../../access/capability-set.ts";
import { type Authenticator, authenticate, type Caller } from "../../../api/call/authenticate.ts";
import { assertHolds } from "../../../api/call/authorize.ts";
import { requestIdOf } from "../../../api/call/call-metadata.ts";
import type { AccessRule } from "../../../api/call/operation.ts";
import { answerFromError, type ErrorAnswer, UNKNOWN_PATH, WRONG_METHOD } from "../../../api/rest/error.ts";
import { sendError } from "../../../api/rest/response.ts";
import type { Store } from "../../../db/store.ts";
import type { HttpRequest, HttpResponse } from "../../../http/http-exchange.ts";
import { HoltError, internal } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { VendorProfile } from "../../../lib/vendor-profile.ts";
import type { Publication } from "../../documents/publication.ts";
import type { Feeds } from "../feeds.ts";
import { answerFeed, answerList, answerRecord } from "./feed-answers.ts";
import { type FeedPath, parseFeedPath } from "./feed-path.ts";
import { createPlaces, type Place } from "./places.ts";

export interface FeedsHandlerOptions {
  readonly feeds: Feeds;
  readonly publication: Publication;
  readonly authenticator: Authenticator;
  readonly store: Store;
  readonly profile: VendorProfile;
  readonly log: Log;
  readonly baseUrl: string;
  readonly maxConcurrentCalls: number;
  /** Of one identity at once, and of all strangers together. */
  readonly maxOfOneCaller?: number;
  /** How long a download may pause. */
  readonly transferIdleMs: number;
}

const MAX_OF_ONE_CALLER = 256;

const LIST = capabilitySet([Capability.CAP_ADVISORIES_LIST]);
const RULE: AccessRule = { mode: "unscoped", capabilities: LIST };
/** When a feed may be there that takes long to make. */
const RETRY_SECONDS = "10";

/** The promise never rejects. */
export function createFeedsHandler(options: FeedsHandlerOptions): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { log, profile, maxConcurrentCalls, maxOfOneCaller = MAX_OF_ONE_CALLER } = options;
  const enter = createPlaces({ all: maxConcurrentCalls, ofOne: maxOfOneCaller });
  return async (request, response) => {
    const started = performance.now();
    const trace: Trace = { principal: undefined };
    try {
      using place = enter();
      const refusal = await serve(request, response, options, trace, place);
      if (refusal !== undefined) sendError(request, response, requestIdOf(request.headers), refusal);
    } catch (thrown) {
      refuse(request, response, thrown, profile, log);
    } finally {
      const ms = Math.round((performance.now() - started) * 1000) / 1000;
      const { method, socket, url = "" } = request;
      const remote = socket?.remoteAddress;
      log.info({ method, status: response.statusCode, ms, principal: trace.principal, remote, path: pathOf(url) }, "feeds");
    }
  };
}

interface Trace {
  principal: string | undefined;
}

async function serve(
  request: HttpRequest,
  response: HttpResponse,
  options: FeedsHandlerOptions,
  trace: Trace,
  place: Place,
): Promise<ErrorAnswer | undefined> {
  const path = parseFeedPath(pathOf(request.url ?? ""));
  if (path === undefined) return UNKNOWN_PATH;
  if (request.method !== "GET" && request.method !== "HEAD") return WRONG_METHOD;
  const isPublic = await options.publication.isPublic(options.store.reader, path.group);
  const caller = await callerOf(request, isPublic, options);
  trace.principal = caller?.principal?.uid;
  place.take(trace.principal);
  // Without a token nobody learns what there is; with one, what every call would tell.
  if (!isPublic && caller !== undefined) await assertHolds("Group", path.group, LIST, caller.access, options.store.reader);
  const sending = { transferIdleMs: options.transferIdleMs, onSend: place.leave };
  await answer({ request, response, group: path.group, isPublic, isStranger: caller === undefined, ...sending }, path, options);
  return undefined;
}

/** Undefined for a stranger, who is welcome where everybody is: there a token that is no good any more does no harm. */
async function callerOf(request: HttpRequest, isPublic: boolean, { authenticator }: FeedsHandlerOptions): Promise<Caller | undefined> {
  const { authorization } = request.headers;
  if (isPublic && authorization === undefined) return undefined;
  const caller = authenticate(RULE, authorization, authenticator);
  return isPublic ? caller.catch(() => undefined) : caller;
}

function answer(exchange: Parameters<typeof answerFeed>[0], path: FeedPath, { feeds, baseUrl }: FeedsHandlerOptions): Promise<void> {
  switch (path.kind) {
    case "list":
      return answerList(exchange, baseUrl, feeds);
    case "feed":
      return answerFeed(exchange, path.format, feeds);
    case "record":
      return answerRecord(exchange, path.format, path.id, feeds);
  }
}

function refuse(request: HttpRequest, response: HttpResponse, thrown: unknown, profile: VendorProfile, log: Log): void {
  if (!(thrown instanceof HoltError)) log.error({ err: thrown }, "a feed could not be served");
  if (response.headersSent) return void response.destroy();
  const { status, text, headers } = answerFromError(thrown instanceof HoltError ? thrown : internal(thrown), "vulnerabilities", profile);
  const retry = status === 503 ? { "retry-after": RETRY_SECONDS } : {};
  sendError(request, response, requestIdOf(request.headers), { status, text, headers: { ...headers, ...retry } });
}

function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? "";
}
