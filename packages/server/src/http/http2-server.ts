/** Serves HTTP/2 on connections that the listener has accepted, with or without node's compatibility layer. */
import {
  constants,
  createServer,
  Http2ServerRequest,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { Socket } from "node:net";
import { atEndOfTurn } from "../lib/at-end-of-turn.ts";
import { Answer, type AnswerCarrier } from "./answer.ts";
import { limitTime } from "./body-time.ts";
import type { ConnectionServer, ServerParts } from "./connection-server.ts";
import { namesOneHost } from "./host-header.ts";
import { type HttpRequest, type RequestHandler, setCommonHeaders } from "./http-exchange.ts";
import { refuseBeyondLimit, refuseLargeHeaders, refuseStream } from "./http2-refusals.ts";
import { MeteredHttp2Response } from "./metered-response.ts";
import type { Peer } from "./peers.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Serves a stream, or returns false to leave it to the compatibility layer. */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, answer: Answer) => boolean;

interface Session {
  readonly socket: Socket;
  readonly peer: Peer;
  /** Those that were reset in this turn count, too. */
  openStreams: number;
}

/** The open sessions. */
class Sessions {
  readonly #sessions = new Map<ServerHttp2Session, Session>();
  readonly #idleMs: number;
  #drained: (() => void) | undefined;

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** Whether no further sessions are accepted. */
  get isDraining(): boolean {
    return this.#drained !== undefined;
  }

  get(session: ServerHttp2Session): Session | undefined {
    return this.#sessions.get(session);
  }

  add(session: ServerHttp2Session, socket: Socket, peer: Peer): void {
    const opened = { socket, peer, openStreams: 0 };
    this.#sessions.set(session, opened);
    session.setTimeout(this.#idleMs, () => {
      if (opened.openStreams === 0) session.close();
    });
    session.once("close", () => {
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#drained?.();
    });
  }

  /** Resolves when all sessions have ended. */
  drain(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    // Sends GOAWAY with the last accepted stream. Clients know that later requests were not processed, and can retry them elsewhere.
    for (const session of this.#sessions.keys()) session.close();
    if (this.#sessions.size === 0) this.#drained?.();
    return closed;
  }
}

/** A stream with what the server keeps of it until it is closed. */
type ServedStream = ServerHttp2Stream & {
  served?: { readonly answer: Answer; readonly session: Session; readonly memory: Disposable } | undefined;
};

/** A listener of all streams. */
function endAnswer(this: ServedStream): void {
  this.served?.answer.end();
}

/**
 * A listener of all streams. A closed stream is garbage for a while before it is collected, and keeps nothing until then. One that was not
 * answered counts until the end of the turn, because a client can open and reset thousands of streams in one turn, and node keeps them for
 * that long.
 */
function closeAnswer(this: ServedStream): void {
  if (this.served === undefined) return;
  const { answer, session, memory } = this.served;
  this.served = undefined;
  answer.close();
  const release = () => {
    memory[Symbol.dispose]();
    session.openStreams--;
  };
  if (wasAnswered(this)) release();
  else atEndOfTurn(release);
}

/** Node also finishes a stream that is reset before it has an answer. */
function wasAnswered({ rstCode, headersSent, writableFinished }: ServerHttp2Stream): boolean {
  return rstCode === constants.NGHTTP2_NO_ERROR && headersSent && writableFinished;
}

export function createHttp2Server(onStream: StreamHandler, parts: ServerParts): ConnectionServer {
  const { onRequest, limits, answers, peers, log } = parts;
  const sessions = new Sessions(limits.sessionIdleMs);
  // nghttp2 looks at the burst of resets only after all bytes that have arrived. A client may cancel all its calls and begin as many again.
  const maxStreamsPerTurn = 2 * limits.streamsPerConnection;
  let accepted: Socket | undefined;

  const onStreamError = (err: Error): void => log.debug({ err }, "HTTP/2 stream failed");
  const server = createServer(serverOptions(limits));
  server.on("session", (session) => {
    // Emitted while `accept` runs.
    const socket = accepted as Socket;
    sessions.add(session, socket, peers.open(socket));
  });
  server.on("sessionError", (err) => log.debug({ err }, "HTTP/2 connection failed"));
  server.on("stream", (stream: ServedStream, headers: IncomingHttpHeaders, _flags, rawHeaders: readonly string[]) => {
    // First of all: an error without a listener would end the process.
    stream.on("error", onStreamError);
    const session = sessions.get(stream.session as ServerHttp2Session);
    if (session === undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    const client = session.peer.clientOf(headers);
    const headerBytes = lengthOf(rawHeaders);
    const memory = session.openStreams < maxStreamsPerTurn ? peers.openStream(client, headerBytes) : undefined;
    if (memory === undefined) return refuseBeyondLimit(stream, session);
    const answer = new Answer(answers, client, new StreamCarrier(stream, session.socket));
    session.openStreams++;
    stream.served = { answer, session, memory };
    // Both happen once. `once` would cost more for each stream than all that they do.
    stream.on("finish", endAnswer);
    stream.on("close", closeAnswer);
    const isTooLarge = headerBytes > limits.headerBytes || rawHeaders.length > 2 * limits.headerFields;
    if (isTooLarge) return refuseLargeHeaders(stream, headers);
    if (!namesOneHost(headers)) return refuseStream(stream, 400);
    if (!isStreaming(headers)) limitBodyTime(stream, limits.requestMs);
    if (!onStream(stream, headers, answer)) serveCompatibly({ stream, headers, rawHeaders, answer }, onRequest);
  });

  return {
    accept(socket) {
      if (sessions.isDraining) return void socket.destroy();
      // Only HTTP/1.1 uses half-open connections. Here the end of one direction closes the connection.
      socket.allowHalfOpen = false;
      accepted = socket;
      server.emit("connection", socket);
    },
    // HTTP/2 has GOAWAY, which loses no request, so `drain` is early enough.
    announceStop() {},
    drain: () => sessions.drain(),
  };
}

/** nghttp2 resets streams whose headers exceed its limits, without an answer. With higher limits there, most of them get one. */
const HEADER_ALLOWANCE = 2;

/** nghttp2 itself stops floods of pings, settings, empty frames and continuations. These options limit the rest. */
function serverOptions(limits: TransportLimits): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: limits.streamsPerConnection,
      maxHeaderListSize: HEADER_ALLOWANCE * limits.headerBytes,
      enablePush: false,
    },
    maxHeaderListPairs: HEADER_ALLOWANCE * limits.headerFields,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    // Rapid reset (CVE-2023-44487). The rate leaves room for clients that cancel many calls.
    streamResetBurst: 1_000,
    streamResetRate: 100,
    // In megabytes, including data that waits to be sent. Leaves room for many large responses to one slow reader.
    maxSessionMemory: 64,
  };
}

function lengthOf(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/** Whether the body has no time limit, as in a streaming call. */
function isStreaming({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return type.startsWith("application/grpc") || type.startsWith("application/connect+");
}

/** Limits the time of a body that has the content type of a streaming call, but is not part of one. */
export function limitOtherBody(request: HttpRequest, ms: number): void {
  if ("stream" in request && isStreaming(request.headers)) limitBodyTime(request.stream, ms);
}

/** Resets the stream if its request is not complete in time. */
export function limitBodyTime(stream: ServerHttp2Stream, ms: number): void {
  if (!stream.endAfterHeaders) limitTime(stream, ms, () => stream.close(constants.NGHTTP2_CANCEL));
}

/** A reader that takes nothing of one stream loses that stream. If even the reset cannot be sent, it loses the connection. */
class StreamCarrier implements AnswerCarrier {
  readonly #stream: ServerHttp2Stream;
  readonly #socket: Socket;
  #isReset = false;

  constructor(stream: ServerHttp2Stream, socket: Socket) {
    this.#stream = stream;
    this.#socket = socket;
  }

  isBlocked(): boolean {
    return false;
  }

  breakOff(): void {
    // Not the session: it would wait until the client has read what it was sent.
    if (this.#isReset) return void this.#socket.destroy();
    this.#isReset = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

interface OpenedStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly answer: Answer;
}

/** Does what node does for servers with a 'request' listener. Node cannot do it for some of the streams only. */
function serveCompatibly({ stream, headers, rawHeaders, answer }: OpenedStream, onRequest: RequestHandler): void {
  const request = new Http2ServerRequest(stream, headers, {}, rawHeaders);
  const response = new MeteredHttp2Response(stream);
  setCommonHeaders(response);
  response.answer = answer;
  if (headers[":method"] === "CONNECT") {
    response.statusCode = 405;
    response.end();
    return;
  }
  if (headers.expect === "100-continue") response.writeContinue();
  onRequest(request, response);
}
