/** The common shape of the HTTP/1.1 server and the HTTP/2 server. */
import type { Socket } from "node:net";
import type { Log } from "../lib/log.ts";
import type { Answers } from "./answer.ts";
import type { RequestHandler } from "./http-exchange.ts";
import type { Peers } from "./peers.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** A server that gets its connections from the listener. */
export interface ConnectionServer {
  accept(socket: Socket): void;
  /** Asks clients to connect elsewhere with their next request, and still serves everything. */
  announceStop(): void;
  /** Lets running requests finish and accepts no new ones. Resolves when the last connection is closed. */
  drain(): Promise<void>;
}

/** Parts that both servers get. */
export interface ServerParts {
  readonly onRequest: RequestHandler;
  readonly limits: TransportLimits;
  readonly answers: Answers;
  readonly peers: Peers;
  readonly log: Log;
}
