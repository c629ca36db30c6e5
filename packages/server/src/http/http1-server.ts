/** Serves HTTP/1.1 on connections that the listener has accepted. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../lib/log.ts";
import { Answer, type Answers } from "./answer.ts";
import { limitTime } from "./body-time.ts";
import { hasOneHost } from "./host-header.ts";
import { COMMON_HEADERS, type RequestHandler, setCommonHeaders } from "./http-exchange.ts";
import { MeteredHttp1Response } from "./metered-response.ts";
import type { Peer, Peers } from "./peers.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** A server that gets its connections from the listener. */
export interface ConnectionServer {
  accept(socket: Socket): void;
  /** Asks clients to connect elsewhere with their next request, and still serves everything. */
  announceStop(): void;
  /** Lets running requests finish and accepts no new ones. Resolves when the last connection is closed. */
  drain(): Promise<void>;
}

/** Parts that the HTTP/1.1 server and the HTTP/2 server share. */
export interface ServerParts {
  readonly onRequest: RequestHandler;
  readonly limits: TransportLimits;
  readonly answers: Answers;
  readonly peers: Peers;
  readonly log: Log;
}

export function createHttp1Server({ onRequest, limits, answers, peers, log }: ServerParts): ConnectionServer {
  const connections = new Map<Socket, Peer>();
  const running = new Set<ServerResponse>();
  let isStopping = false;
  /** Whether a connection without a running request may be closed. */
  let isLingerOver = false;
  let drained: (() => void) | undefined;

  const server = createServer({
    ServerResponse: MeteredHttp1Response,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // Node's own timeout cannot be lifted for a single request. body-time.ts has one that can.
    requestTimeout: 0,
    // Node would answer without the common headers, and accepts several.
    requireHostHeader: false,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs / 2),
  });
  // Node counts a connection as idle while none of a pending write is sent.
  server.timeout = limits.stalledMs;
  const begin = (request: IncomingMessage, response: MeteredHttp1Response) => {
    const { socket } = request;
    const answer = new Answer(answers, connections.get(socket) ?? peers.open(socket), response);
    response.answer = answer;
    running.add(response);
    if (isStopping) response.shouldKeepAlive = false;
    response.once("close", () => {
      answer.close();
      running.delete(response);
      if (drained !== undefined) request.socket.destroySoon();
    });
    serve(request, response);
  };
  server.on("request", begin);
  server.on("checkContinue", (request, response) => {
    whenFirst(response, () => {
      response.writeContinue();
      begin(request, response);
    });
  });
  server.on("checkExpectation", (_request, response) => refuseRequest(response, 417));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Does not log the error itself, because it contains the raw packet, which may contain a token.
    log.debug({ code: error.code, reason: error.message }, "malformed HTTP/1.1");
    refuse(error, socket as Socket);
  });
  // node:http starts to check its timeouts at 'listening'. This server never listens, so the event is emitted here.
  server.emit("listening");

  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.rawHeaders.length > 2 * limits.headerFields) return void refuseRequest(response, 431);
    if (!hasOneHost(request)) return void refuseRequest(response, 400);
    setCommonHeaders(response);
    if (hasBody(request)) limitTime(request, limits.requestMs, () => request.complete || refuse(LATE, request.socket));
    onRequest(request, response);
  }

  function closeIdle(): void {
    isLingerOver = true;
    const busy = new Set([...running].map((response) => response.req.socket));
    for (const socket of connections.keys()) if (!busy.has(socket)) socket.destroy();
    server.close();
  }

  return {
    accept(socket) {
      if (isLingerOver) return void socket.destroy();
      connections.set(socket, peers.open(socket));
      socket.once("close", () => {
        connections.delete(socket);
        if (connections.size === 0) drained?.();
      });
      server.emit("connection", socket);
    },
    announceStop() {
      isStopping = true;
      for (const response of running) response.shouldKeepAlive = false;
    },
    drain() {
      const closed = new Promise<void>((resolve) => {
        drained = resolve;
      });
      this.announceStop();
      if (connections.size === 0) drained?.();
      setTimeout(closeIdle, LINGER_MS).unref();
      return closed;
    },
  };
}

/** When a server stops, requests that are on their way on idle connections have this time to arrive. They would be reset otherwise. */
const LINGER_MS = 1_000;

const LATE: NodeJS.ErrnoException = Object.assign(new Error("the request took too long"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });

/** Answers a request that no handler gets to see, and closes its connection. */
function refuseRequest(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...COMMON_HEADERS, connection: "close", "content-length": 0 }).end();
}

/** A request with neither header has no body (RFC 9112 §6.3). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * Calls `then` once earlier responses on the connection are complete. Node would otherwise write the 100 of a pipelined request into the
 * middle of an earlier response.
 */
function whenFirst(response: ServerResponse, then: () => void): void {
  if (response.socket !== null) then();
  else response.once("socket", then);
}

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

const REFUSAL_HEADERS = Object.entries({ ...COMMON_HEADERS, connection: "close", "content-length": "0" })
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

/** Sends a short response to a malformed or late request, and closes its connection. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writableEnded) return;
  // Part of an earlier response may be sent already, and nothing can be inserted into it.
  const isAnswering = (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true;
  if (!socket.writable || isAnswering || error.code === "ECONNRESET") return void socket.destroy();
  socket.end(`HTTP/1.1 ${REFUSALS[error.code ?? ""] ?? "400 Bad Request"}\r\n${REFUSAL_HEADERS}\r\n`);
  // Waits, because closing while the client still sends would reset the connection, and the client would lose the response.
  setTimeout(() => socket.destroy(), 500).unref();
}
