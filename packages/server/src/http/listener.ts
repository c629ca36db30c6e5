/** Accepts connections on the one port of the process, detects the protocol of each, and passes it to the server of that protocol. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { Log } from "../lib/log.ts";
import { Answers } from "./answer.ts";
import { type CertificateFiles, readCertificate, watchCertificate } from "./certificate.ts";
import type { ConnectionServer } from "./connection-server.ts";
import { type RequestHandler, send } from "./http-exchange.ts";
import { createHttp1Server } from "./http1-server.ts";
import { createHttp2Server, type StreamHandler } from "./http2-server.ts";
import { peekProtocol } from "./peek-protocol.ts";
import { Peers, type PeersOptions } from "./peers.ts";
import type { IsProxy } from "./proxy-addresses.ts";
import type { TransportLimits } from "./transport-limits.ts";

export interface ListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Without it, the listener speaks clear text. */
  readonly tls?: CertificateFiles | undefined;
  /** Gets every HTTP/2 stream first. Streams that it serves do not reach `onRequest`. */
  readonly onStream: StreamHandler;
  /** Gets every other request, over HTTP/1.1 and HTTP/2. */
  readonly onRequest: RequestHandler;
  readonly limits: TransportLimits;
  /** Whether an address is that of a reverse proxy; by default none is. */
  readonly isProxy?: IsProxy;
  readonly log: Log;
  readonly onRefusal?: PeersOptions["onRefusal"];
}

export class Listener implements AsyncDisposable {
  readonly #front: Server;
  readonly #servers: readonly ConnectionServer[];
  readonly #connections = new Set<Socket>();
  readonly #owned: readonly Disposable[];

  constructor(front: Server, servers: readonly ConnectionServer[], owned: readonly Disposable[]) {
    this.#front = front;
    this.#servers = servers;
    this.#owned = owned;
    front.on("connection", (socket: Socket) => {
      this.#connections.add(socket);
      socket.once("close", () => this.#connections.delete(socket));
    });
  }

  get port(): number {
    return (this.#front.address() as AddressInfo).port;
  }

  /** Serves everything as before, but asks clients to connect elsewhere with their next request. */
  announceStop(): void {
    for (const server of this.#servers) server.announceStop();
  }

  /** Accepts no new connections, and resolves when the running requests are answered. The caller decides how long to wait. */
  async drain(): Promise<void> {
    this.#front.close();
    await Promise.all(this.#servers.map((server) => server.drain()));
  }

  /** Closes all connections at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#owned) each[Symbol.dispose]();
    const closed = new Promise<void>((resolve) => this.#front.close(() => resolve()));
    for (const socket of this.#connections) socket.destroy();
    await closed;
  }
}

/** Advice for the operator whose address is not available. */
const LISTEN_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the address is in use by another program; set HOLT_LISTEN to another address",
  EADDRNOTAVAIL: "this machine has no such address; set HOLT_LISTEN to one of its addresses",
  EACCES: "this user may not use that port; set HOLT_LISTEN to a port above 1023",
};

/** @throws Error if the address is not available or the certificate is unusable */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const { tls, limits, log } = options;
  const onRequest = guarded(options.onRequest, log);
  const answers = new Answers(limits);
  const peers = new Peers({ limits, isProxy: options.isProxy ?? (() => false), onRefusal: options.onRefusal });
  const parts = { onRequest, limits, answers, peers, log };
  const http1 = createHttp1Server(parts);
  const http2 = createHttp2Server(options.onStream, parts);
  const accept = (socket: Socket, isHttp2: boolean) => (isHttp2 ? http2 : http1).accept(socket);

  const front = tls === undefined ? createClearFront(limits, accept) : createTlsFront(tls, limits, log, accept);
  front.maxConnections = limits.connections;
  // With HOLT_PROCESSES, Node would offer a connection to process after process for as long as all of them are full.
  Object.assign(front, { dropMaxConnection: true });
  front.on("drop", () => log.warn({ connections: limits.connections }, "connection refused: the limit of connections is reached"));
  front.prependListener("connection", (socket: Socket) => admit(socket, peers, log));
  const owned = tls === undefined ? [answers] : [answers, watchCertificate(tls, front as TlsServer, log)];
  const listener = new Listener(front, [http1, http2], owned);
  front.listen(options.port, options.host);
  await once(front, "listening").catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot listen on ${options.host} port ${options.port}: ${LISTEN_PROBLEMS[error.code ?? ""] ?? error.message}`, {
      cause: error,
    });
  });
  return listener;
}

function admit(socket: Socket, peers: Peers, log: Log): void {
  if (peers.admit(socket)) return;
  log.debug({ remote: socket.remoteAddress }, "connection refused: its address has as many connections as the limit allows");
  socket.destroy();
}

/** Confines a bug in a handler to the request that it failed. */
function guarded(onRequest: RequestHandler, log: Log): RequestHandler {
  return (request, response) => {
    try {
      onRequest(request, response);
    } catch (err) {
      log.error({ err }, "a request could not be handled");
      if (response.headersSent) response.destroy(err as Error);
      else send(response, 500, { type: "text/plain", text: "Internal error\n" });
    }
  };
}

type Accept = (socket: Socket, isHttp2: boolean) => void;

/** The same options as node:http uses. A client may end its side after the request and still read the response. */
const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

function createClearFront(limits: TransportLimits, accept: Accept): Server {
  return createServer(socketOptions, (socket) => {
    socket.on("error", ignore);
    peekProtocol(socket, limits.firstByteMs, (isHttp2) => accept(socket, isHttp2));
  });
}

function createTlsFront(files: CertificateFiles, limits: TransportLimits, log: Log, accept: Accept): TlsServer {
  const options = { ...socketOptions, ...readCertificate(files), ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: limits.firstByteMs };
  const server = createTlsServer(options, (socket) => {
    socket.on("error", ignore);
    accept(socket, socket.alpnProtocol === "h2");
  });
  return server.on("tlsClientError", (err, socket) => {
    log.debug({ err }, "TLS handshake failed");
    // Node leaves the connection open after a handshake timeout.
    socket.destroy();
  });
}

/** Node closes failed connections itself, and their requests emit their own events. */
function ignore(): void {}
