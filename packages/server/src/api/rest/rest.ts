/** Serves REST: finds the operation of an HTTP request, runs it, and answers its reply or error. */
import type { Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { CallerSlots } from "../../http/caller-slots.ts";
import type { HttpRequest, HttpResponse } from "../../http/http-exchange.ts";
import { readBody } from "../../http/read-body.ts";
import { type Allowance, MessageTooLargeError, type RequestMemory } from "../../http/request-memory.ts";
import { breakOff } from "../../http/send-chunks.ts";
import type { CompleteBody } from "../../http/send-complete.ts";
import { Code, HoltError, internal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { isOpen } from "../call/authenticate.ts";
import { type CallMetadata, EncodedMessage, JsonText, type Reply, StreamedText } from "../call/call.ts";
import { requestIdOf } from "../call/call-metadata.ts";
import type { Operation } from "../call/operation.ts";
import type { Run } from "../call/run.ts";
import { restOperationOf, type UnservedCalls } from "../call/unserved-calls.ts";
import { type ErrorContext, errorContextOf, unknownOperation } from "../status.ts";
import { answerFromError, unknownPath, wrongMethod } from "./error.ts";
import { warningHeader } from "./ignored-input.ts";
import { compileRequestReader, type RequestReader } from "./request-reader.ts";
import { sendError, sendReply, sendStream } from "./response.ts";
import { RestMetadata } from "./rest-metadata.ts";
import { type Route, type RouteMatch, RouteTable, routesOf } from "./route-table.ts";
import { isBrowser, sendUnknownPage } from "./unknown-page.ts";

export interface RestOptions {
  readonly operations: readonly Operation[];
  readonly run: Run;
  readonly profile: VendorProfile;
  readonly memory: RequestMemory;
  readonly log: Log;
  readonly unserved: UnservedCalls;
  /** Slots for long replies, shared with the transfers of the protocols that are not calls. */
  readonly callerSlots: CallerSlots;
}

interface CompiledRoute extends Route {
  readonly reader: RequestReader;
  encode(reply: Reply): CompleteBody;
}

/** Answers every request; the promise never rejects. */
export type RestHandler = (request: HttpRequest, response: HttpResponse) => Promise<void>;

/** @throws Error that names the operation if its routes collide with others or do not fit its messages */
export function createRestHandler(options: RestOptions): RestHandler {
  const routes = new RouteTable(routesOf(options.operations).map((route) => compileRoute(route, options.profile)));
  return async (request, response) => {
    const requestId = requestIdOf(request.headers);
    let found: Match | undefined;
    try {
      const { path, query } = splitTarget(request.url ?? "");
      const match = routes.match(request.method === "HEAD" ? "GET" : (request.method ?? ""), path);
      if (match.kind !== "match") reportUnserved({ request, response, requestId, path }, options.unserved);
      if (match.kind === "unknown-path" && isBrowser(request)) return sendUnknownPage(response);
      if (match.kind === "unknown-path") return sendError(request, response, requestId, unknownPath(options.profile));
      if (match.kind === "wrong-method") return sendError(request, response, requestId, wrongMethod(match.allowed));
      found = match;
      const metadata = new RestMetadata(request, response, requestId, match.alias);
      const reply = await answer({ request, response, query, match, metadata }, options);
      if (!(reply instanceof StreamedText)) sendReply(response, requestId, reply);
      else
        await sendTransfer(
          { request, response, requestId, reply },
          options.callerSlots.take(metadata.caller, response.answer?.client.network),
        );
    } catch (thrown) {
      const error = holtErrorOf(thrown, requestId, options.log);
      if (response.headersSent) {
        if (error.code !== Code.CANCELLED) options.log.error({ err: error, requestId }, "a response broke off");
        return breakOff(response);
      }
      sendError(request, response, requestId, answerFromError(error, contextOf(found, options)));
      if (error instanceof MessageTooLargeError) request.resume();
    }
  };
}

function contextOf(match: Match | undefined, { profile }: RestOptions): ErrorContext {
  return match === undefined ? unknownOperation(profile) : errorContextOf(match.route.operation, match.alias, profile);
}

interface Transfer {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly requestId: string;
  readonly reply: StreamedText;
}

/** Sends a long reply. The call is over, so it holds no slot of the process. */
async function sendTransfer({ request, response, requestId, reply }: Transfer, slot: Disposable): Promise<void> {
  using _slot = slot;
  await sendStream(request, response, requestId, reply.chunks);
}

interface UnroutedRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly requestId: string;
  readonly path: string;
}

function reportUnserved({ request, response, requestId, path }: UnroutedRequest, unserved: UnservedCalls): void {
  const operation = restOperationOf(request.method ?? "", path);
  if (operation !== undefined) unserved.report(operation, new RestMetadata(request, response, requestId, undefined));
}

type Match = Extract<RouteMatch<CompiledRoute>, { kind: "match" }>;

/** A request whose route is known. */
interface RoutedRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly query: string;
  readonly match: Match;
  readonly metadata: CallMetadata;
}

async function answer(routed: RoutedRequest, { run, memory }: RestOptions): Promise<CompleteBody | StreamedText> {
  const { response, match, metadata } = routed;
  const { operation, encode } = match.route;
  const allowance = memory.allow(isOpen(operation.access), response.answer);
  try {
    const reply = await run(operation, () => readMessage(routed, allowance), metadata);
    if (reply instanceof StreamedText) return reply;
    const body = encode(reply);
    // A write has happened, so its reply is sent in any case.
    if (operation.handler?.kind === "read") response.answer?.reserve(body.bytes);
    return body;
  } finally {
    allowance.release();
  }
}

function readMessage({ request, response, query, match }: RoutedRequest, allowance: Allowance): Message | Promise<Message> {
  const { variables, route } = match;
  const { reader } = route;
  const decode = (body: Buffer | undefined) => {
    const { message, ignored } = reader.read({ variables, query, body, contentType: request.headers["content-type"] });
    if (ignored.length > 0) response.setHeader("warning", warningHeader(ignored));
    return message;
  };
  if (reader.takes === "nothing") return decode(undefined);
  const body = readBody(request, allowance);
  return body instanceof Promise ? body.then(decode) : decode(body);
}

function compileRoute(route: Route, { unknownParameters }: VendorProfile): CompiledRoute {
  const { output, parent } = route.operation.method;
  const encodeMessage = compileJsonEncoder(output) as (message: Message) => string;
  // v2 answers an empty message with an empty body, v1 with {}.
  const isSilent = output.typeName === EmptySchema.typeName && /\.v2$/.test(parent.file.proto.package);
  const encode = (reply: Reply): CompleteBody => {
    if (isSilent) return { text: "", bytes: 0 };
    if (reply instanceof EncodedMessage) return { text: reply.encoded, bytes: reply.encoded.length };
    if (reply instanceof JsonText) return { text: reply.text, bytes: reply.bytes };
    const text = encodeMessage(reply);
    return { text, bytes: Buffer.byteLength(text) };
  };
  return { ...route, reader: compileRequestReader(route, unknownParameters), encode };
}

/** `run` has logged its errors; any other error is a fault of this transport. */
function holtErrorOf(thrown: unknown, requestId: string, log: Log): HoltError {
  if (thrown instanceof HoltError) return thrown;
  log.error({ err: thrown, requestId }, "REST could not serve a request");
  return internal(thrown);
}

function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
