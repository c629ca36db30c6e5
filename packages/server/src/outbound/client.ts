/**
 * Sends all HTTP requests to addresses that callers supplied: discovery, signing keys, caller proofs, webhooks, feeds.
 *
 * Requests use https and go to public addresses or to the operator's ranges (HOLT_OUTBOUND_ALLOW_CIDRS). Plain http is
 * allowed only for addresses in such a range. Loopback is not an exception: otherwise any token could make the server
 * contact its own host. The client uses no proxies from the environment and decompresses nothing. It follows redirects only
 * on request, and checks every hop like the first one. The size and the total time of a response are limited.
 */
import { parseBoundedJson } from "../lib/strict-json.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { createAddressPolicy } from "./address.ts";
import type { Agent } from "./agent.ts";
import { OutboundError } from "./error.ts";
import type { Resolve } from "./name-lookup.ts";
import { DEFAULT_MAX_BYTES, type OutboundLimits, type OutboundRequest, type OutboundResponse } from "./outbound-request.ts";
import { sendAndFollow } from "./redirects.ts";

export interface OutboundClient extends AsyncDisposable {
  /** Resolves with a response of any status except a redirect. @throws OutboundError on redirects that are not followed and other failures */
  request(request: OutboundRequest): Promise<OutboundResponse>;
  /** Sends a GET request. @throws OutboundError on failures and on any status but 200 */
  fetchJson(url: string, limits?: OutboundLimits): Promise<unknown>;
}

export interface OutboundOptions {
  readonly allowCidrs: readonly string[];
  /** Maximum connections per origin, default 8. Further requests queue; idle connections are closed. */
  readonly maxConnections?: number;
  /** The largest `maxBytes` of the client's requests, default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Replaces the system's resolver in tests. */
  readonly resolve?: Resolve;
  /** Traces requests, and passes the trace on in their headers. */
  readonly tracer?: Tracer;
}

const TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 8;
/** Bytes of headers, interim responses and framing, in addition to those that a body in chunks has. */
const MAX_FRAME_BYTES = 1024 * 1024;

export function createOutboundClient(options: OutboundOptions): OutboundClient {
  const { tracer = noTracer } = options;
  const policy = createAddressPolicy(options.allowCidrs);
  const { maxConnections = MAX_CONNECTIONS, maxBodyBytes = DEFAULT_MAX_BYTES, resolve } = options;
  // The chunks of a body may be as small as their frames.
  const maxAnswerBytes = 2 * maxBodyBytes + MAX_FRAME_BYTES;
  let agent: Promise<Agent> | undefined;
  // The library takes a tenth of the memory of a server, so it is loaded with the first request.
  const loadAgent = async () =>
    (await import("./agent.ts")).createAgent({ policy, timeoutMs: TIMEOUT_MS, maxAnswerBytes, maxConnections, resolve });
  const allowsHttp = options.allowCidrs.length > 0;
  const send = async (wanted: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> => {
    agent ??= loadAgent();
    return sendAndFollow(await agent, { wanted, allowsHttp, signal });
  };
  const request = (wanted: OutboundRequest): Promise<OutboundResponse> =>
    traced(tracer, wanted, (request) => withinTime(request, (signal) => send(request, signal)));
  return {
    request,
    async fetchJson(url, limits) {
      return jsonOf(await request({ ...limits, url, headers: { accept: "application/json" } }), url);
    },
    async [Symbol.asyncDispose]() {
      agent ??= Promise.reject(new OutboundError("aborted", "the client is closed"));
      await agent.then(
        (loaded) => loaded.destroy(),
        () => {},
      );
    },
  };
}

/** Runs a request in a span of its own, without the URL's path and query, which may contain secrets. */
function traced(tracer: Tracer, wanted: OutboundRequest, send: (request: OutboundRequest) => Promise<OutboundResponse>) {
  if (!tracer.isActive) return send(wanted);
  const { method = "GET", headers } = wanted;
  const host = URL.parse(wanted.url)?.host;
  return tracer.span(
    { name: `outbound ${method}`, kind: "client", attributes: { "http.request.method": method, "server.address": host } },
    async (span) => {
      const response = await send({ ...wanted, headers: { ...headers, ...tracer.headers() } });
      span.set({ "http.response.status_code": response.status });
      return response;
    },
  );
}

async function withinTime<T>(limits: OutboundLimits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new OutboundError("timeout", "no complete response in time")),
    limits.timeoutMs ?? TIMEOUT_MS,
  );
  const giveUp = (): void => controller.abort(new OutboundError("aborted", "the request was aborted"));
  limits.signal?.addEventListener("abort", giveUp, { once: true });
  if (limits.signal?.aborted === true) giveUp();
  try {
    return await work(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener("abort", giveUp);
  }
}

/** Many times the largest key set. Callers choose issuers, and parsing their answers must not block the server. */
export const JSON_LIMITS = { maxDepth: 32, maxValues: 10_000 };

function jsonOf(response: OutboundResponse, url: string): unknown {
  const { host } = new URL(url);
  if (response.status !== 200)
    throw new OutboundError("status", `${host} answered with status ${response.status}`, { status: response.status });
  try {
    return parseBoundedJson(response.body.toString("utf8"), JSON_LIMITS);
  } catch {
    // No cause, because its message quotes the body.
    throw new OutboundError("body", `${host} did not answer JSON of at most ${JSON_LIMITS.maxValues} values`);
  }
}
