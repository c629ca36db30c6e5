/**
 * Serves unary gRPC directly on HTTP/2 streams. Nearly all calls are unary, so they skip the layers that the other protocols need (see
 * connect-handlers.ts).
 */

import type { IncomingHttpHeaders } from "node:http2";
import { atEndOfTurn } from "../../lib/at-end-of-turn.ts";
import { UnaryCall, type UnaryOptions, type UnaryStream } from "./unary-call.ts";

/** Whether `serveUnary` serves the request, given that its path names an operation. */
export function isNative(headers: IncomingHttpHeaders): boolean {
  const type = headers["content-type"];
  return (type === "application/grpc" || type === "application/grpc+proto") && headers[":method"] === "POST";
}

/** Answers the call; never throws. */
export function serveUnary(unary: UnaryStream, options: UnaryOptions): void {
  const call = new UnaryCall(unary, options);
  call.limitTime();
  // A small request is complete by then, and its caller is authenticated once. The caller of a longer one is authenticated before it is read.
  atEndOfTurn(() => call.start());
}
