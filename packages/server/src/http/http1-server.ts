/** HTTP/1.1 on connections that the listener hands over. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../lib/log.ts";
import { limitTime } from "./body-time.ts";
import type { RequestHandler } from "./http-exchange.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** A server without a port of its own. */
export interface ConnectionServer {
  accept(socket: Socket): void;
  /** Lets running requests end and accepts no others. Resolves when the last connection is closed. */
  drain(): Promise<void>;
}

export function createHttp1Server(onRequest: RequestHandler, limits: TransportLimits, log: Log): ConnectionServer {
  const connections = new Set<Socket>();
  const running = new Set<ServerResponse>();
  let drained: (() => void) | undefined;

  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // Node's own cannot be lifted for the one request that may last: body-time.ts.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs / 2),
  });
  // A write of which nothing leaves is a connection that stands still, for node.
  server.timeout = limits.stalledMs;
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    running.add(response);
    if (drained !== undefined) response.shouldKeepAlive = false;
    response.once("close", () => {
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
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Not the error itself: it holds the packet, and that a token.
    log.debug({ code: error.code, reason: error.message }, "malformed HTTP/1.1");
    refuse(error, socket as Socket);
  });
  // node:http checks its header and request timeouts from 'listening' on; this server never listens, so it has to be told.
  server.emit("listening");

  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.rawHeaders.length > 2 * limits.headerFields) {
      response.writeHead(431, { connection: "close" }).end();
      return;
    }
    if (hasBody(request)) limitTime(request, limits.requestMs, () => request.complete || refuse(LATE, request.socket));
    onRequest(request, response);
  }

  return {
    accept(socket) {
      if (drained !== undefined) return void socket.destroy();
      connections.add(socket);
      socket.once("close", () => {
        connections.delete(socket);
        if (connections.size === 0) drained?.();
      });
      server.emit("connection", socket);
    },
    drain() {
      const closed = new Promise<void>((resolve) => {
        drained = resolve;
      });
      const busy = new Set([...running].map((response) => response.req.socket));
      for (const response of running) response.shouldKeepAlive = false;
      for (const socket of connections) if (!busy.has(socket)) socket.destroy();
      if (connections.size === 0) drained?.();
      server.close();
      return closed;
    },
  };
}

const LATE: NodeJS.ErrnoException = Object.assign(new Error("the request takes too long"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });

/** RFC 9112 §6.3: a request that announces neither has none. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Once it is this response's turn: the 100 that node writes for one that waits in a pipeline would come out between its head and its body. */
function whenFirst(response: ServerResponse, then: () => void): void {
  if (response.socket !== null) then();
  else response.once("socket", then);
}

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** A short answer to what is no request, and the end of its connection. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writableEnded) return;
  // What came before may be answered by half; nothing can be said in the middle of it.
  const isAnswering = (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true;
  if (!socket.writable || isAnswering || error.code === "ECONNRESET") return void socket.destroy();
  socket.end(`HTTP/1.1 ${REFUSALS[error.code ?? ""] ?? "400 Bad Request"}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  // Not at once: closing while the client still sends resets the connection, and the answer would be lost on its way.
  setTimeout(() => socket.destroy(), 500).unref();
}
