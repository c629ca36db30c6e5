/** Sends requests over pooled connections. Only this file and connector.ts load undici. */
import { type Dispatcher, request, Agent as UndiciAgent } from "undici";
import { type ConnectorOptions, createConnector } from "./connector.ts";
import { OutboundError } from "./error.ts";

export interface AgentOptions extends ConnectorOptions {
  /** Per origin. */
  readonly maxConnections: number;
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
/** Responses of status 1xx to one request. */
const MAX_INTERIM_RESPONSES = 16;

export function createAgent({ maxConnections, ...options }: AgentOptions): Agent {
  const dispatcher = new UndiciAgent({
    connect: createConnector(options),
    connections: maxConnections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Each request has a limit of its own, which may be longer than the five minutes of undici.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  return {
    send(url, { signal, ...wanted }) {
      const flood = new AbortController();
      let interimResponses = 0;
      const onInfo = () => {
        interimResponses++;
        if (interimResponses > MAX_INTERIM_RESPONSES) flood.abort(tooManyInterim(url));
      };
      return request(url, { dispatcher, ...wanted, signal: AbortSignal.any([signal, flood.signal]), onInfo });
    },
    destroy: () => dispatcher.destroy(),
  };
}

function tooManyInterim({ host }: URL): OutboundError {
  return new OutboundError("body", `${host} sent more than ${MAX_INTERIM_RESPONSES} interim responses (status 1xx) and no final one`);
}
