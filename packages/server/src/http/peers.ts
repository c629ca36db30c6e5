/** Limits the connections of each remote address and of each authenticated caller, and the memory of the open streams of an address. */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { createKeyedLimit, type KeyedLimit } from "../jobs/keyed-limit.ts";
import { resourceExhausted } from "../lib/errors.ts";
import { clientAddress } from "./client-address.ts";
import type { Holder, MemoryPool } from "./memory-pool.ts";
import type { IsProxy } from "./proxy-addresses.ts";
import { networkOf } from "./remote-network.ts";
import { createStreamMemory, type StreamLimits, takeStreamMemory } from "./stream-memory.ts";
import type { TransportLimits } from "./transport-limits.ts";

export interface PeersOptions {
  readonly limits: Pick<TransportLimits, "connectionsPerAddress" | "connectionsPerCaller"> & StreamLimits;
  /** Whether the address is a reverse proxy's, whose connections carry many clients. The limits of connections do not hold for it. */
  readonly isProxy: IsProxy;
  /** Called for each connection, or request on one, that a limit refuses. */
  readonly onRefusal?: ((limit: "connections-per-address" | "connections-per-caller" | "stream-memory") => void) | undefined;
}

/** The other end of one connection: a client, or a reverse proxy with many clients. */
export interface Peer {
  /** Whether it is a reverse proxy, so that other clients would lose the connection, too. */
  readonly isProxy: boolean;
  /** The sender of a request with these headers. */
  clientOf(headers: IncomingHttpHeaders): Client;
}

/** The sender of one request. */
export interface Client {
  /** For logs and events; empty if the connection was closed before it was accepted. */
  readonly address: string;
  /** For limits per address. Undefined for a reverse proxy that does not name its client. */
  readonly network: Holder;
  /**
   * Counts the connection for this caller, until another caller uses it or it is closed.
   * @throws HoltError RESOURCE_EXHAUSTED while the caller has too many connections
   */
  identify(caller: string): void;
}

export class Peers {
  readonly #isProxy: IsProxy;
  readonly #perAddress: KeyedLimit<string>;
  readonly #perCaller: KeyedLimit<string>;
  readonly #streams: MemoryPool;
  readonly #onRefusal: NonNullable<PeersOptions["onRefusal"]>;

  constructor({ limits, isProxy, onRefusal = () => {} }: PeersOptions) {
    this.#isProxy = isProxy;
    this.#onRefusal = onRefusal;
    this.#streams = createStreamMemory(limits);
    this.#perAddress = createKeyedLimit(limits.connectionsPerAddress, () => {
      onRefusal("connections-per-address");
      return resourceExhausted("too many connections of this address");
    });
    this.#perCaller = createKeyedLimit(limits.connectionsPerCaller, () => {
      onRefusal("connections-per-caller");
      return resourceExhausted("this identity has as many connections as its limit allows; close some, or use HTTP/2", 1);
    });
  }

  /** @returns false if the address has too many connections */
  admit(socket: Socket): boolean {
    const address = this.#addressOf(socket);
    if (address === undefined) return true;
    try {
      const slot = this.#perAddress.take(networkOf(address));
      socket.once("close", () => slot[Symbol.dispose]());
      return true;
    } catch {
      return false;
    }
  }

  open(socket: Socket): Peer {
    const { remoteAddress: peer = "" } = socket;
    const isProxy = this.#isProxy;
    if (this.#addressOf(socket) !== undefined) {
      const client = { address: peer, network: networkOf(peer), identify: this.#countCallers(socket) };
      return { isProxy: false, clientOf: () => client };
    }
    return {
      isProxy: true,
      clientOf(headers) {
        const address = clientAddress(peer, headers, isProxy);
        return { address, network: address === "" || isProxy(address) ? undefined : networkOf(address), identify() {} };
      },
    };
  }

  /**
   * Counts an open HTTP/2 stream until the result is disposed of.
   * @returns undefined if the streams of the client's address, or all streams together, would take too much memory
   */
  openStream({ network }: Client, headerBytes: number): Disposable | undefined {
    try {
      return takeStreamMemory(this.#streams, network, headerBytes);
    } catch {
      this.#onRefusal("stream-memory");
      return undefined;
    }
  }

  #countCallers(socket: Socket): Client["identify"] {
    let current: string | undefined;
    let slot: Disposable | undefined;
    socket.once("close", () => slot?.[Symbol.dispose]());
    return (caller) => {
      if (caller === current || socket.destroyed) return;
      const next = this.#perCaller.take(caller);
      slot?.[Symbol.dispose]();
      slot = next;
      current = caller;
    };
  }

  #addressOf({ remoteAddress }: Socket): string | undefined {
    return remoteAddress === undefined || this.#isProxy(remoteAddress) ? undefined : remoteAddress;
  }
}
