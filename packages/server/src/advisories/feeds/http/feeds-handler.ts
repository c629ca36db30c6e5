/** Serves `/holt/v1/feeds/…`: the advisories of a group as files, in the formats that other tools read. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../../access/capability-set.ts";
import { type Authenticator, authenticate, type Caller } from "../../../api/call/authenticate.ts";
import { assertHolds } from "../../../api/call/authorize.ts";
import { requestIdOf } from "../../../api/call/call-metadata.ts";
import type { AccessRule } from "../../../api/call/operation.ts";
import { answerFromError, type ErrorAnswer, unknownPath, wrongMethod } from "../../../api/rest/error.ts";
import { sendError } from "../../../api/rest/response.ts";
import { unknownOperation } from "../../../api/status.ts";
import type { BlobStore } from "../../../blobs/store.ts";
import type { Store } from "../../../db/store.ts";
import type { RequestHandler } from "../../../http/http-exchange.ts";
import type { ProtocolExchange, ProtocolFrame } from "../../../http/protocol-frame.ts";
import { Code, HoltError, internal } from "../../../lib/errors.ts";
import type { VendorProfile } from "../../../lib/vendor-profile.ts";
import type { Publication } from "../../documents/publication.ts";
import type { Feeds } from "../feeds.ts";
import { answerFeed, answerList, answerRecord, type FeedExchange } from "./feed-answers.ts";
import { type FeedPath, parseFeedPath } from "./feed-path.ts";

export interface FeedsHandlerOptions {
  readonly frame: ProtocolFrame;
  readonly feeds: Feeds;
  readonly blobs: Pick<BlobStore, "send">;
  readonly publication: Publication;
  readonly authenticator: Authenticator;
  readonly store: Store;
  readonly profile: VendorProfile;
  readonly baseUrl: string;
  /** The longest pause of a download. */
  readonly transferIdleMs: number;
}

const LIST = capabilitySet([Capability.CAP_ADVISORIES_LIST]);
const RULE: AccessRule = { mode: "unscoped", capabilities: LIST };
/** Sent when a feed takes long to build: by then it may be ready. */
const RETRY_AFTER_SECONDS = "10";

/**
 * A request holds a slot of the process's limit only while the server works on it, because a client may take long to read a large file.
 * Anonymous callers give that slot back at once, so that they wait at each other's cost alone. A slot of its caller's own is held until
 * the last byte is sent.
 */
export function createFeedsHandler(options: FeedsHandlerOptions): RequestHandler {
  return options.frame({
    name: "feeds",
    createState: () => undefined,
    serve: (exchange) => serve(exchange, options),
    refuse: (exchange, error) => refuse(exchange, error, options.profile),
    logFields: ({ path }) => ({ path }),
  });
}

async function serve(exchange: ProtocolExchange, options: FeedsHandlerOptions): Promise<void> {
  const { request, response, method } = exchange;
  const path = parseFeedPath(exchange.path);
  if (path === undefined) return answerError(exchange, unknownPath(options.profile));
  if (method !== "GET" && method !== "HEAD") return answerError(exchange, wrongMethod(["GET"]));
  const { group } = path;
  const isPublic = await options.publication.isPublic(options.store.reader, group);
  const caller = await callerOf(exchange, isPublic, options.authenticator);
  exchange.identify(caller?.principal?.uid);
  using _slot = exchange.takeCallerSlot();
  if (exchange.principal === undefined) exchange.releaseSlot();
  // A caller with a token learns whether a group exists, as from every call. Anonymous callers were refused before.
  if (!isPublic && caller !== undefined) await assertHolds({ kind: "Group", uid: group }, LIST, caller.access, options.store.reader);
  const sending = { blobs: options.blobs, transferIdleMs: options.transferIdleMs, onSend: () => exchange.releaseSlot() };
  await answer({ request, response, group, isPublic, isAnonymous: caller === undefined, ...sending }, path, options);
}

/** Undefined for an anonymous caller, whom public groups allow. An invalid token does no harm there: its bearer counts as anonymous. */
async function callerOf({ request }: ProtocolExchange, isPublic: boolean, authenticator: Authenticator): Promise<Caller | undefined> {
  const { authorization } = request.headers;
  if (isPublic && authorization === undefined) return undefined;
  try {
    return await authenticate(RULE, authorization, authenticator);
  } catch (error) {
    if (isPublic) return undefined;
    throw error;
  }
}

function answer(exchange: FeedExchange, path: FeedPath, { feeds, baseUrl }: FeedsHandlerOptions): Promise<void> {
  switch (path.kind) {
    case "list":
      return answerList(exchange, baseUrl, feeds);
    case "feed":
      return answerFeed(exchange, path.format, feeds);
    case "record":
      return answerRecord(exchange, path.format, path.id, feeds);
  }
}

function refuse(exchange: ProtocolExchange, thrown: unknown, profile: VendorProfile): void {
  const error = thrown instanceof HoltError ? thrown : internal(thrown);
  if (error.code === Code.INTERNAL) exchange.reportFault(error.cause ?? error);
  const { status, text, headers } = answerFromError(error, { ...unknownOperation(profile), domain: "vulnerabilities" });
  const retry = status === 503 ? { "retry-after": RETRY_AFTER_SECONDS } : {};
  answerError(exchange, { status, text, headers: { ...headers, ...retry } });
}

function answerError({ request, response }: ProtocolExchange, error: ErrorAnswer): void {
  sendError(request, response, requestIdOf(request.headers), error);
}
