/** Serves HTTP/1.1 on connections that the listener has accepted. */
import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../lib/log.ts";
import { acceptAbsoluteForm } from "./absolute-form.ts";
import { Answer } from "./answer.ts";
import { limitTime } from "./body-time.ts";
import type { ConnectionServer, ServerParts } from "./connection-server.ts";
import { hasOneHost } from "./host-header.ts";
import { Http1Connections } from "./http1-connections.ts";
import { LATE, refuseInTurn, refuseRequest } from "./http1-refusals.ts";
import { MeteredHttp1Response } from "./metered-response.ts";
import type { TransportLimits } from "./transport-limits.ts";

export function createHttp1Server({ onRequest, limits, answers, peers, log }: ServerParts): ConnectionServer {
  const connections = new Http1Connections(peers, limits.pipelinedRequests);
  const server = createServer(serverOptions(limits));
  // Node counts a connection as idle while none of a pending write is sent.
  server.timeout = limits.stalledMs;
  server.on("request", (request, response) => {
    if (begin(response)) serve(request, response);
  });
  server.on("checkContinue", (request, response) => {
    if (!begin(response)) return;
    whenFirst(response, () => {
      response.writeContinue();
      serve(request, response);
    });
  });
  server.on("checkExpectation", (_request, response) => refuseRequest(response, 417));
  server.on("clientError", (error, socket) => refuseMalformed(error, socket as Socket, connections, log));
  // node:http starts to check its timeouts at 'listening'. This server never listens, so the event is emitted here.
  server.emit("listening");

  /** @returns false for a request that is to be ignored */
  function begin(response: MeteredHttp1Response): boolean {
    // First of all: an error without a listener would end the process. Handlers remove theirs before a late error of a closed connection.
    response.req.on("error", ignore);
    const peer = connections.begin(response);
    if (peer === undefined) return false;
    response.answer = new Answer(answers, peer.clientOf(response.req.headers), response);
    response.on("close", onClose);
    return true;
  }

  function onClose(this: MeteredHttp1Response): void {
    this.answer?.close();
    connections.end(this);
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.rawHeaders.length > 2 * limits.headerFields) return void refuseRequest(response, 431);
    if (!hasOneHost(request) || hasFaultyFraming(request)) return void refuseRequest(response, 400);
    if (hasUnknownCoding(request)) return void refuseRequest(response, 501);
    acceptAbsoluteForm(request);
    if (hasBody(request)) limitTime(request, limits.requestMs, () => request.complete || refuseLate(request));
    onRequest(request, response);
  }

  function refuseLate({ socket }: IncomingMessage): void {
    refuseInTurn(LATE, socket, connections.running(socket));
  }

  return {
    accept(socket) {
      if (connections.open(socket)) server.emit("connection", socket);
    },
    announceStop: () => connections.announceStop(),
    drain: () => connections.drain(() => void server.close()),
  };
}

function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, connections: Http1Connections, log: Log): void {
  // Does not log the error itself, because it contains the raw packet, which may contain a token.
  log.debug({ code: error.code, reason: error.message }, "malformed HTTP/1.1");
  // Bytes after the last request of a connection get no answer.
  if (error.code === "HPE_CLOSED_CONNECTION") return;
  const running = connections.running(socket);
  // The server stops reading requests while several wait for their responses, so the client is not late.
  if (error.code === LATE.code && running.length > 0) return;
  refuseInTurn(error, socket, running);
}

function serverOptions(limits: TransportLimits): ServerOptions<typeof IncomingMessage, typeof MeteredHttp1Response> {
  return {
    ServerResponse: MeteredHttp1Response,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // Node's own timeout cannot be lifted for a single request. body-time.ts has one that can.
    requestTimeout: 0,
    // Node would answer without the common headers, and accepts several.
    requireHostHeader: false,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs / 2),
  };
}

/** A request with neither header has no body (RFC 9112 §6.3). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Chunks, which HTTP/1.0 does not have. A program in front of this server may find other requests in the same bytes (RFC 9112 §6.1). */
function hasFaultyFraming({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === "1.0" && headers["transfer-encoding"] !== undefined;
}

/** Node decodes chunks only, and hands on what a coding such as gzip made of the content (RFC 9112 §6.1). */
function hasUnknownCoding({ headers }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return coding !== undefined && coding.toLowerCase() !== "chunked";
}

/**
 * Calls `then` once earlier responses on the connection are complete. Node would otherwise write the 100 of a pipelined request into the
 * middle of an earlier response.
 */
function whenFirst(response: ServerResponse, then: () => void): void {
  if (response.socket !== null) then();
  else response.once("socket", then);
}

/** Does nothing: other events report that the connection is closed. */
function ignore(): void {}
