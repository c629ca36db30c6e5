/**
 * Serves unary gRPC directly on HTTP/2 streams. Nearly all calls are unary, so they skip the layers that the other protocols need (see
 * connect-handlers.ts).
 */

import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { Answer } from "../../http/answer.ts";
import { COMMON_HEADERS } from "../../http/http-exchange.ts";
import { limitBodyTime } from "../../http/http2-server.ts";
import { readBody } from "../../http/read-body.ts";
import type { Allowance, RequestMemory } from "../../http/request-memory.ts";
import { SLICE_BYTES, SlicedOutput } from "../../http/sliced-output.ts";
import type { TransportLimits } from "../../http/transport-limits.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { isOpen } from "../call/authenticate.ts";
import type { Operation } from "../call/operation.ts";
import type { Run } from "../call/run.ts";
import { errorContextOf } from "../status.ts";
import { CallWait } from "./call-wait.ts";
import { decodeBinary } from "./decode-message.ts";
import { frameReply } from "./frame-reply.ts";
import { grpcStatus, statusTrailers } from "./grpc-status.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";
import { assertEncoding, OVERHEAD, unframe } from "./message-framing.ts";
import { UnaryMetadata } from "./unary-metadata.ts";

export interface UnaryOptions {
  readonly run: Run;
  readonly profile: VendorProfile;
  readonly limits: TransportLimits;
  readonly memory: RequestMemory;
  readonly log: Log;
}

/** An operation, and the version that the client called if it is an alias. */
export interface UnaryRoute {
  readonly operation: Operation;
  readonly alias: string | undefined;
}

const OK = { "grpc-status": "0" };

/** Whether `serveUnary` serves the request, given that its path names an operation. */
export function isNative(headers: IncomingHttpHeaders): boolean {
  const type = headers["content-type"];
  return (type === "application/grpc" || type === "application/grpc+proto") && headers[":method"] === "POST";
}

/** A stream with a call whose operation is known. */
export interface UnaryStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly answer: Answer;
  readonly route: UnaryRoute;
}

/** Answers the call; never rejects. */
export async function serveUnary(unary: UnaryStream, options: UnaryOptions): Promise<void> {
  const { stream, headers, route } = unary;
  const wait = new CallWait();
  const leave = () => wait.abort(new HoltError(Code.CANCELLED, "The caller disconnected"));
  stream.once("close", leave);
  limitBodyTime(stream, options.limits.requestMs);
  let deadline: NodeJS.Timeout | undefined;
  try {
    deadline = startDeadline(wait, parseGrpcTimeout(headers["grpc-timeout"]));
    sendReply(unary, await wait.until(answerCall(unary, wait, options)));
  } catch (error) {
    const context = errorContextOf(route.operation, route.alias, options.profile);
    refuseStream(stream, statusTrailers(grpcStatus(error, context, options.log)));
  } finally {
    stream.off("close", leave);
    clearTimeout(deadline);
  }
}

function startDeadline(wait: CallWait, ms: number | undefined): NodeJS.Timeout | undefined {
  if (ms === undefined) return undefined;
  return setTimeout(() => wait.abort(new HoltError(Code.DEADLINE_EXCEEDED, "The deadline of the call has passed")), ms);
}

/** @returns the reply as a length-prefixed message */
async function answerCall(unary: UnaryStream, wait: CallWait, { run, memory }: UnaryOptions): Promise<Buffer> {
  const { stream, headers, answer, route } = unary;
  const { operation, alias } = route;
  const encoding = headers["grpc-encoding"] as string | undefined;
  const allowance = memory.allow(isOpen(operation.access), answer);
  try {
    const metadata = new UnaryMetadata(headers, answer, wait, alias);
    const reply = await run(operation, () => readMessage(stream, encoding, operation, allowance), metadata);
    const framed = frameReply(operation.method.output, reply);
    // A write has happened, so its reply is sent in any case.
    if (operation.handler?.kind === "read") answer.reserve(framed.length);
    return framed;
  } finally {
    allowance.release();
  }
}

async function readMessage(
  stream: ServerHttp2Stream,
  encoding: string | undefined,
  { method }: Operation,
  allowance: Allowance,
): Promise<Message> {
  assertEncoding(encoding);
  const body = await readBody(stream, allowance, OVERHEAD);
  return decodeBinary(method.input, await unframe(body, encoding, allowance));
}

function sendReply({ stream, headers, answer }: UnaryStream, framed: Buffer): void {
  if (stream.closed || stream.destroyed) return;
  stream.once("wantTrailers", () => stream.sendTrailers(OK));
  stream.respond({ ...COMMON_HEADERS, ":status": 200, "content-type": headers["content-type"] }, { waitForTrailers: true });
  if (framed.length > SLICE_BYTES) {
    sendSliced(stream, answer, framed);
  } else {
    answer.add(framed.length);
    stream.end(framed);
  }
}

function sendSliced(stream: ServerHttp2Stream, answer: Answer, bytes: Uint8Array): void {
  const output = new SlicedOutput(answer, stream);
  output.write(bytes);
  output.end();
}

/** Ends a stream with an error ("Trailers-Only"), and asks a client that still sends to stop (RFC 9113 §8.1). */
function refuseStream(stream: ServerHttp2Stream, trailers: Record<string, string>): void {
  if (stream.closed || stream.destroyed || stream.headersSent) return;
  const headers = { ...COMMON_HEADERS, ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": "gzip" };
  stream.respond({ ...headers, ...trailers }, { endStream: true });
  // Deferred: in the same tick, the reset would overtake the answer, and the client would wait for it.
  if (!stream.readableEnded) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
}
