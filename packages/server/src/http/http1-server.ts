/** Serves HTTP/1.1 on connections that the listener has accepted. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Log } from "../lib/log.ts";
import { Answer, type Answers } from "./answer.ts";
import { limitTime } from "./body-time.ts";
import { closeInStages, discardInput } from "./close-in-stages.ts";
import { hasOneHost } from "./host-header.ts";
import { COMMON_HEADERS, type RequestHandler } from "./http-exchange.ts";
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

/** A connection, and its requests that are not answered completely. */
interface Connection {
  readonly peer: Peer;
  readonly running: MeteredHttp1Response[];
}

export function createHttp1Server({ onRequest, limits, answers, peers, log }: ServerParts): ConnectionServer {
  const connections = new Map<Socket, Connection>();
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
    const { peer, running } = connectionOf(request.socket);
    response.answer = new Answer(answers, peer.clientOf(request.headers), response);
    running.push(response);
    if (isStopping) response.shouldKeepAlive = false;
    response.on("close", onClose);
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
    // Bytes after the last request of a connection get no answer.
    if (error.code === "HPE_CLOSED_CONNECTION") return;
    // The server stops reading requests while several wait for their responses, so the client is not late.
    if (error.code === LATE.code && unfinished(socket).length > 0) return;
    refuseInTurn(error, socket as Socket);
  });
  // node:http starts to check its timeouts at 'listening'. This server never listens, so the event is emitted here.
  server.emit("listening");

  function connectionOf(socket: Socket): Connection {
    return connections.get(socket) ?? { peer: peers.open(socket), running: [] };
  }

  function onClose(this: MeteredHttp1Response): void {
    const { socket } = this.req;
    this.answer?.close();
    // Undefined if the connection was closed first.
    const running = connections.get(socket)?.running;
    running?.splice(running.indexOf(this), 1);
    if (drained !== undefined) socket.destroySoon();
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.rawHeaders.length > 2 * limits.headerFields) return void refuseRequest(response, 431);
    if (!hasOneHost(request)) return void refuseRequest(response, 400);
    if (hasBody(request)) limitTime(request, limits.requestMs, () => request.complete || refuseInTurn(LATE, request.socket));
    onRequest(request, response);
  }

  function unfinished(socket: Duplex): readonly ServerResponse[] {
    return connections.get(socket as Socket)?.running ?? [];
  }

  /** Refuses a malformed or late request once the pipelined requests before it are answered. */
  function refuseInTurn(error: NodeJS.ErrnoException, socket: Socket): void {
    const responses = unfinished(socket);
    const refused = responses.find((response) => !response.req.complete);
    const earlier = responses.filter((response) => response !== refused);
    if (earlier.length === 0) return void refuse(error, socket, refused);
    discardInput(socket);
    earlier.at(-1)?.once("close", () => refuse(error, socket, refused));
  }

  function closeIdle(): void {
    isLingerOver = true;
    for (const [socket, { running }] of connections) if (running.length === 0) socket.destroy();
    server.close();
  }

  return {
    accept(socket) {
      if (isLingerOver) return void socket.destroy();
      connections.set(socket, connectionOf(socket));
      // Node calls this after the last response.
      socket.destroySoon = () => closeInStages(socket);
      socket.once("close", () => {
        connections.delete(socket);
        if (connections.size === 0) drained?.();
      });
      server.emit("connection", socket);
    },
    announceStop() {
      isStopping = true;
      for (const { running } of connections.values()) for (const response of running) response.shouldKeepAlive = false;
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

/**
 * Sends a short response to a malformed or late request, and closes its connection.
 * @param response of the request, if its headers were in order
 */
function refuse(error: NodeJS.ErrnoException, socket: Socket, response: ServerResponse | undefined): void {
  if (socket.writableEnded) return;
  // Nothing can be inserted into a response that is partly sent.
  if (!socket.writable || response?.headersSent || error.code === "ECONNRESET") return void socket.destroy();
  socket.write(`HTTP/1.1 ${REFUSALS[error.code ?? ""] ?? "400 Bad Request"}\r\n${REFUSAL_HEADERS}\r\n`);
  closeInStages(socket);
}
