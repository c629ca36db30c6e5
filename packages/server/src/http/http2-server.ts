/** Serves HTTP/2 on connections that the listener has accepted, with or without node's compatibility layer. */
import {
  constants,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { Log } from "../lib/log.ts";
import { limitTime } from "./body-time.ts";
import { namesOneHost } from "./host-header.ts";
import { COMMON_HEADERS, type RequestHandler, setCommonHeaders } from "./http-exchange.ts";
import type { ConnectionServer } from "./http1-server.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Serves a stream, or returns false to leave it to the compatibility layer. */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

export function createHttp2Server(onStream: StreamHandler, onRequest: RequestHandler, limits: TransportLimits, log: Log): ConnectionServer {
  const openStreams = new Map<ServerHttp2Session, number>();
  let drained: (() => void) | undefined;

  const server = createServer(serverOptions(limits));
  server.on("session", (session) => {
    openStreams.set(session, 0);
    session.setTimeout(limits.sessionIdleMs, () => {
      if (openStreams.get(session) === 0) session.close();
    });
    session.once("close", () => {
      openStreams.delete(session);
      if (openStreams.size === 0) drained?.();
    });
  });
  server.on("sessionError", (err) => log.debug({ err }, "HTTP/2 connection failed"));
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags, rawHeaders: readonly string[]) => {
    const session = stream.session as ServerHttp2Session;
    openStreams.set(session, (openStreams.get(session) ?? 0) + 1);
    stream.once("close", () => {
      const open = openStreams.get(session);
      if (open !== undefined) openStreams.set(session, open - 1);
    });
    stream.on("error", (err) => log.debug({ err }, "HTTP/2 stream failed"));
    if (isTooLong(rawHeaders, limits.headerBytes)) return refuseStream(stream, 431);
    if (!namesOneHost(headers)) return refuseStream(stream, 400);
    if (!isStreaming(headers)) limitBodyTime(stream, limits.requestMs);
    if (!onStream(stream, headers)) serveCompatibly(stream, headers, rawHeaders, onRequest);
  });

  return {
    accept(socket) {
      if (drained !== undefined) return void socket.destroy();
      // Only HTTP/1.1 uses half-open connections. Here the end of one direction closes the connection.
      socket.allowHalfOpen = false;
      server.emit("connection", socket);
    },
    drain() {
      const closed = new Promise<void>((resolve) => {
        drained = resolve;
      });
      // Sends GOAWAY with the last accepted stream. Clients know that later requests were not processed, and can retry them elsewhere.
      for (const session of openStreams.keys()) session.close();
      if (openStreams.size === 0) drained?.();
      return closed;
    },
  };
}

/** nghttp2 itself stops floods of pings, settings, empty frames and continuations. These options limit the rest. */
function serverOptions(limits: TransportLimits): ServerOptions {
  return {
    settings: { maxConcurrentStreams: limits.streamsPerConnection, maxHeaderListSize: limits.headerBytes, enablePush: false },
    maxHeaderListPairs: limits.headerFields,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    // Rapid reset (CVE-2023-44487). The rate leaves room for clients that cancel many calls.
    streamResetBurst: 1_000,
    streamResetRate: 100,
    // In megabytes, including data that waits to be sent. Leaves room for many large responses to one slow reader.
    maxSessionMemory: 64,
  };
}

/** Needed because nghttp2 enforces the announced limit only after the client has acknowledged it, which a client need not do. */
function isTooLong(rawHeaders: readonly string[], limit: number): boolean {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > limit;
}

/** Answers a request that no handler gets to see. */
function refuseStream(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ...COMMON_HEADERS, ":status": status }, { endStream: true });
}

/** Whether the body has no time limit, as in a streaming call. */
function isStreaming({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return type.startsWith("application/grpc") || type.startsWith("application/connect+");
}

/** Resets the stream if its request is not complete in time. */
export function limitBodyTime(stream: ServerHttp2Stream, ms: number): void {
  if (!stream.endAfterHeaders) limitTime(stream, ms, () => stream.close(constants.NGHTTP2_CANCEL));
}

/** Does what node does for servers with a 'request' listener. Node cannot do it for some of the streams only. */
function serveCompatibly(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  onRequest: RequestHandler,
): void {
  const request = new Http2ServerRequest(stream, headers, {}, rawHeaders);
  const response = new Http2ServerResponse(stream);
  setCommonHeaders(response);
  if (headers[":method"] === "CONNECT") {
    response.statusCode = 405;
    response.end();
    return;
  }
  if (headers.expect === "100-continue") response.writeContinue();
  onRequest(request, response);
}
