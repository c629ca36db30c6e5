/** Refuses HTTP/2 requests that no handler gets to see, and clients whose open streams take too much memory. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code } from "../lib/errors.ts";
import { COMMON_HEADERS } from "./http-exchange.ts";
import type { Peer } from "./peers.ts";

const TOO_LARGE = "Resource exhausted: the headers of the request are larger than the limit of this server";

export function refuseStream(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ...COMMON_HEADERS, ":status": status }, { endStream: true });
}

/** Clients of gRPC would report the status of HTTP as an unknown error. */
export function refuseLargeHeaders(stream: ServerHttp2Stream, { "content-type": type }: IncomingHttpHeaders): void {
  if (!type?.startsWith("application/grpc")) return void refuseStream(stream, 431);
  const status = { "grpc-status": String(Code.RESOURCE_EXHAUSTED), "grpc-message": TOO_LARGE };
  stream.respond({ ...COMMON_HEADERS, ":status": 200, "content-type": type, ...status }, { endStream: true });
}

/** Refuses a stream beyond a limit of open streams, with its whole connection unless a proxy shares that among clients. */
export function refuseBeyondLimit(stream: ServerHttp2Stream, { peer, socket }: { readonly peer: Peer; readonly socket: Socket }): void {
  if (peer.isProxy) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else closeConnection(stream.session as ServerHttp2Session, socket);
}

/** Tells the client that it does too much, if it reads, and frees all streams of the connection in any case. */
function closeConnection(session: ServerHttp2Session, socket: Socket): void {
  session.destroy(new Error("too many open streams"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  // The session alone would wait until the client has read what it was sent. Its last frame leaves in this turn.
  setImmediate(() => socket.destroy());
}
