/** Sends requests over pooled connections. Only this file and connector.ts load undici. */
import { type Dispatcher, request, Agent as UndiciAgent } from "undici";
import type { AddressPolicy } from "./address.ts";
import { createConnector } from "./connector.ts";
import type { Resolve } from "./name-lookup.ts";

export interface AgentOptions {
  readonly policy: AddressPolicy;
  /** For a connection. */
  readonly timeoutMs: number;
  /** Per origin. */
  readonly maxConnections: number;
  readonly resolve: Resolve | undefined;
}

export interface AgentRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  readonly signal: AbortSignal;
}

export interface Agent {
  send(url: URL, wanted: AgentRequest): Promise<Dispatcher.ResponseData>;
  /** Ends all connections. Later requests fail. */
  destroy(): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 4000;

export function createAgent({ policy, timeoutMs, maxConnections, resolve }: AgentOptions): Agent {
  const dispatcher = new UndiciAgent({
    connect: createConnector(policy, timeoutMs, resolve),
    connections: maxConnections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  return {
    send: (url, wanted) => request(url, { dispatcher, ...wanted }),
    destroy: () => dispatcher.destroy(),
  };
}
