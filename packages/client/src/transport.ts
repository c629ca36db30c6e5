/** Calls over Connect, which browsers and every runtime with `fetch` can send. */
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { assertBaseUrl } from "./base-url.ts";
import { connectionReasonOf } from "./connection-reason.ts";
import { errorFrom } from "./errors.ts";

export interface TransportOptions {
  /** URL of the server. */
  readonly baseUrl: string;
  /** The outermost comes first. */
  readonly interceptors?: readonly Interceptor[];
  readonly timeoutMs?: number;
  /** Replaces the runtime's own, e.g. to use a proxy. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Names a call in the log of the server and in errors on this side. */
export const REQUEST_ID = "x-request-id";

/** Every call rejects with HoltError. @throws TypeError for a malformed URL */
export function transportTo({ baseUrl, interceptors = [], timeoutMs, fetch = globalThis.fetch }: TransportOptions): Transport {
  assertBaseUrl(baseUrl);
  const transport = createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    interceptors: [...interceptors],
    fetch: reaching(baseUrl, fetch),
    ...(timeoutMs !== undefined && { defaultTimeoutMs: timeoutMs }),
  });
  return {
    stream: transport.stream,
    // Around the whole call, because Connect wraps the errors of interceptors.
    async unary(method, signal, callTimeoutMs, header, input, contextValues) {
      const headers = new Headers(header);
      const requestId = headers.get(REQUEST_ID) ?? crypto.randomUUID();
      headers.set(REQUEST_ID, requestId);
      try {
        return await transport.unary(method, signal, callTimeoutMs, headers, input, contextValues);
      } catch (error) {
        throw errorFrom(error, requestId);
      }
    },
  };
}

function reaching(baseUrl: string, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (...parameters) => {
    try {
      return await fetch(...parameters);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new ConnectError(`cannot reach ${baseUrl}: ${connectionReasonOf(error)}`, Code.Unavailable, undefined, undefined, error);
    }
  };
}
