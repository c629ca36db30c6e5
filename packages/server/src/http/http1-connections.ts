/** Keeps the open connections of the HTTP/1.1 server, and closes them when the server stops. */
import type { Socket } from "node:net";
import { atEndOfTurn } from "../lib/at-end-of-turn.ts";
import { closeInStages, discardInput } from "./close-in-stages.ts";
import type { MeteredHttp1Response } from "./metered-response.ts";
import type { Peer, Peers } from "./peers.ts";

/** When a server stops, requests that are on their way on idle connections have this time to arrive. They would be reset otherwise. */
const LINGER_MS = 1_000;

interface Connection {
  readonly peer: Peer;
  /** Responses that are not complete, oldest first. */
  readonly running: MeteredHttp1Response[];
  /** Requests that began in this turn of the event loop. */
  begun: number;
  /** "full" after its last request, and "discarding" once it discards what its client sends after that. */
  state: "open" | "full" | "discarding";
}

export class Http1Connections {
  readonly #peers: Peers;
  readonly #maxRunning: number;
  readonly #connections = new Map<Socket, Connection>();
  #isStopping = false;
  /** Whether a connection without a running request may be closed. */
  #isLingerOver = false;
  #drained: (() => void) | undefined;

  /**
   * @param maxRunning unanswered requests of one connection, which its client has pipelined. Those that are answered in the turn in which
   *   they arrive count until its end, because all that has arrived on a connection is handled in one turn.
   */
  constructor(peers: Peers, maxRunning: number) {
    this.#peers = peers;
    this.#maxRunning = maxRunning;
  }

  /** @returns false for a connection that came too late: the server has stopped, and the connection is closed */
  open(socket: Socket): boolean {
    if (this.#isLingerOver) {
      socket.destroy();
      return false;
    }
    this.#connections.set(socket, this.#connectionOf(socket));
    // Node calls this after the last response.
    socket.destroySoon = () => closeInStages(socket);
    socket.once("close", () => {
      this.#connections.delete(socket);
      if (this.#connections.size === 0) this.#drained?.();
    });
    return true;
  }

  /**
   * Counts the response as running, until `end`. The connection is closed after its last one.
   * @returns the peer that sent its request; undefined for a request after the last one, which is to be ignored
   */
  begin(response: MeteredHttp1Response): Peer | undefined {
    const { socket } = response.req;
    const connection = this.#connectionOf(socket);
    if (connection.state !== "open") {
      stopParsing(socket, connection);
      return undefined;
    }
    const { peer, running } = connection;
    running.push(response);
    if (connection.begun++ === 0)
      atEndOfTurn(() => {
        connection.begun = 0;
      });
    if (Math.max(running.length, connection.begun) >= this.#maxRunning) connection.state = "full";
    if (this.#isStopping || connection.state === "full") response.shouldKeepAlive = false;
    return peer;
  }

  /** The response is complete, or its connection is closed. */
  end(response: MeteredHttp1Response): void {
    const { socket } = response.req;
    // Undefined if the connection was closed first.
    const running = this.#connections.get(socket)?.running;
    running?.splice(running.indexOf(response), 1);
    if (this.#drained !== undefined) socket.destroySoon();
  }

  /** The responses of the connection that are not complete, oldest first. */
  running(socket: Socket): readonly MeteredHttp1Response[] {
    return this.#connections.get(socket)?.running ?? [];
  }

  /** Closes each connection after its running requests. */
  announceStop(): void {
    this.#isStopping = true;
    for (const { running } of this.#connections.values()) for (const response of running) response.shouldKeepAlive = false;
  }

  /**
   * Resolves when the last connection is closed.
   * @param onIdleClosed called when the idle connections are closed
   */
  drain(onIdleClosed: () => void): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.announceStop();
    if (this.#connections.size === 0) this.#drained?.();
    setTimeout(() => {
      this.#closeIdle();
      onIdleClosed();
    }, LINGER_MS).unref();
    return closed;
  }

  #connectionOf(socket: Socket): Connection {
    return this.#connections.get(socket) ?? { peer: this.#peers.open(socket), running: [], begun: 0, state: "open" };
  }

  #closeIdle(): void {
    this.#isLingerOver = true;
    for (const [socket, { running }] of this.#connections) if (running.length === 0) socket.destroy();
  }
}

function stopParsing(socket: Socket, connection: Connection): void {
  if (connection.state === "discarding") return;
  connection.state = "discarding";
  // Deferred, because the parser is still busy with the bytes that have arrived.
  setImmediate(() => discardInput(socket));
}
