/** Serves gRPC-Web, Connect, and the parts of gRPC that are not served natively, by the Connect library, over HTTP/1.1 and HTTP/2. */
import type { IncomingHttpHeaders } from "node:http";
import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import {
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type MethodImpl,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { compressionGzip, universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { type HttpRequest, type HttpResponse, remoteAddressOf, send } from "../../http/http-exchange.ts";
import { limitBodyTime } from "../../http/http2-server.ts";
import type { Log } from "../../lib/log.ts";
import { isOpen } from "../call/authenticate.ts";
import { type CallMetadata, JsonText, messageOf, type Reply } from "../call/call.ts";
import { metadataFromHeaders } from "../call/call-metadata.ts";
import type { Operation } from "../call/operation.ts";
import { errorContextOf } from "../status.ts";
import { withCheckedBody, withReader } from "./checked-body.ts";
import { readMessage, withoutMessage } from "./connect-message.ts";
import { connectError, grpcStatus } from "./grpc-status.ts";
import { isBeyondTimers, LONGEST_MS } from "./grpc-timeout.ts";
import type { UnaryOptions } from "./unary-call.ts";
import { untilAborted } from "./until-aborted.ts";

/** Adds services that are not operations: health, reflection. */
export type ConnectRoutes = (router: ConnectRouter) => void;

export type ConnectHandler = (request: UniversalServerRequest) => Promise<UniversalServerResponse>;

interface Origin {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly alias: string | undefined;
}
const originKey = createContextKey<Origin | undefined>(undefined);

/** The handler of a canonical path, if there is one. */
export type ConnectHandlers = (path: string) => ConnectHandler | undefined;

/** Makes the handler of an operation when it is first called: most never are, and all of them take 4 MB. */
export function createConnectHandlers(
  operations: ReadonlyMap<string, Operation>,
  options: UnaryOptions,
  others: ConnectRoutes,
): ConnectHandlers {
  const router = createConnectRouter(ROUTER_OPTIONS);
  others(router);
  const handlers = new Map<string, ConnectHandler>(router.handlers.map((handler) => [handler.requestPath, checkMessages(handler)]));
  return (path) => {
    const operation = handlers.has(path) ? undefined : operations.get(path);
    if (operation !== undefined) handlers.set(path, handlerOf(operation, options));
    return handlers.get(path);
  };
}

function handlerOf(operation: Operation, options: UnaryOptions): ConnectHandler {
  const router = createConnectRouter(ROUTER_OPTIONS).rpc(operation.method, implementation(operation, options));
  return readOnDemand(router.handlers[0] as UniversalHandler, options);
}

const MAX_MESSAGE_BYTES = 4_096;

const ROUTER_OPTIONS: ConnectRouterOptions = {
  // Limits what Connect reads itself: requests for health and reflection, which anonymous callers may send on endless streams.
  readMaxBytes: MAX_MESSAGE_BYTES,
  acceptCompression: [compressionGzip],
  // Answers are not compressed: most are small, and compressing large ones would block the only thread.
  compressMinBytes: 0xffff_ffff,
  jsonOptions: { alwaysEmitImplicit: true },
};

/** The handler of an operation. Its message is read only when `run` asks for it, within the time limit of a request. */
function readOnDemand(handler: UniversalHandler, { limits }: UnaryOptions): ConnectHandler {
  return (universal) => {
    const { request } = (universal.contextValues as ContextValues).get(originKey) as Origin;
    if ("stream" in request) limitBodyTime(request.stream, limits.requestMs);
    return handler(withoutMessage(universal));
  };
}

function checkMessages(handler: UniversalHandler): ConnectHandler {
  return (universal) => {
    const checked = withCheckedBody(universal, handler.method.input, MAX_MESSAGE_BYTES);
    // Orchestrators restart a server whose health check fails, and its answer is small.
    if (handler.method.methodKind === "unary") return handler(checked);
    const { response } = (universal.contextValues as ContextValues).get(originKey) as Origin;
    return handler(withReader(checked, response.answer));
  };
}

function implementation(operation: Operation, options: UnaryOptions): MethodImpl<DescMethodUnary> {
  return async (_empty, context) => {
    try {
      return await untilAborted(answerCall(operation, context, options), context.signal);
    } catch (error) {
      // Connect itself reports deadline and cancellation, as the reason of the context's signal.
      if (error instanceof ConnectError) throw error;
      const { alias } = context.values.get(originKey) as Origin;
      throw connectError(grpcStatus(error, errorContextOf(operation, alias, options.profile), options.log));
    }
  };
}

async function answerCall(operation: Operation, context: HandlerContext, { run, memory }: UnaryOptions): Promise<Message> {
  const origin = context.values.get(originKey) as Origin;
  const allowance = memory.allow(isOpen(operation.access), origin.response.answer);
  try {
    const reply = await run(operation, () => readMessage(origin.request, operation, allowance), metadataOf(origin, context));
    // A write has happened, so its reply is sent in any case.
    if (operation.handler?.kind === "read") origin.response.answer?.reserve(sizeOf(reply));
    return messageOf(reply);
  } finally {
    allowance.release();
  }
}

/** An estimate of the bytes of a reply. Lists reply with text; other replies have a bounded number of small parts. */
function sizeOf(reply: Reply): number {
  return reply instanceof JsonText ? reply.text.length : 1;
}

function metadataOf(origin: Origin, { signal, protocolName }: HandlerContext): CallMetadata {
  return metadataFromHeaders(origin.request.headers, {
    protocol: protocolName as CallMetadata["protocol"],
    remoteAddress: remoteAddressOf(origin.request, origin.response),
    alias: origin.alias,
    signal,
    identify: (caller) => origin.response.answer?.identify(caller),
    collect: (bytes) => origin.response.answer?.collect(bytes),
  });
}

/** The library answers it without the methods that are allowed (RFC 9110 §15.5.6). No operation can be called with GET. */
const METHOD_NOT_ALLOWED = 405;

/** Answers the request; never rejects. */
export async function serveByConnect(handler: ConnectHandler, origin: Origin, log: Log): Promise<void> {
  const { request, response } = origin;
  dropFarDeadline(request.headers);
  try {
    const universal = universalRequest(origin);
    if (universal === undefined) return send(response, 400, { type: "text/plain", text: "The request has no usable host.\n" });
    const answer = await handler(universal);
    if (answer.status === METHOD_NOT_ALLOWED) response.setHeader("allow", "POST");
    await universalResponseToNodeResponse(answer, response);
  } catch (err) {
    // Usually the client disconnected; in any case there is no client to answer.
    log.debug({ err, path: request.url }, "Connect call failed");
    response.destroy(err as Error);
  }
}

/** Connect passes any number to node's timers, where a number that is too large expires at once. */
function dropFarDeadline(headers: IncomingHttpHeaders): void {
  if (isBeyondTimers(headers["grpc-timeout"])) delete headers["grpc-timeout"];
  if (Number(headers["connect-timeout-ms"]) > LONGEST_MS) delete headers["connect-timeout-ms"];
}

/** Connect parses a URL from the request, which throws on an invalid Host header. */
function universalRequest(origin: Origin) {
  try {
    return universalRequestFromNodeRequest(origin.request, origin.response, undefined, createContextValues().set(originKey, origin));
  } catch {
    return undefined;
  }
}
