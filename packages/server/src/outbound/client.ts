/**
 * Sends all HTTP requests to addresses that callers supplied: discovery, signing keys, caller proofs, webhooks, feeds.
 *
 * Requests use https and go to public addresses or to the operator's ranges (HOLT_OUTBOUND_ALLOW_CIDRS). Plain http is
 * allowed only for addresses in such a range. Loopback is no exception: otherwise any token could make the server
 * contact its own host. The client uses no proxies from the environment and decompresses nothing. It follows redirects
 * only on request, and checks every hop like the first one. The size and the total time of a response are limited.
 */
import type { Dispatcher } from "undici";
import { parseBoundedJson } from "../lib/strict-json.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { createAddressPolicy } from "./address.ts";
import type { Agent } from "./agent.ts";
import { OutboundError } from "./error.ts";
import type { Resolve } from "./name-lookup.ts";

export interface OutboundLimits {
  readonly signal?: AbortSignal | undefined;
  /** Covers everything from the name lookup to the last byte of the body. Default 10 s. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of the response body. Default 1 MiB. */
  readonly maxBytes?: number | undefined;
}

export interface OutboundRequest extends OutboundLimits, RedirectOptions {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * Discards the response body, which is read only so that the connection can be reused. If the body exceeds `maxBytes`
   * or a second, the connection is closed without an error.
   */
  readonly ignoreBody?: boolean;
  /** Bytes of an ignored body that are returned all the same; none by default. */
  readonly keepBytes?: number;
  /**
   * Receives the body of a 200 response chunk by chunk; the response's own `body` is then empty. The next chunk waits
   * until the promise resolves.
   */
  readonly onBody?: ((chunk: Buffer, headers: OutboundResponse["headers"]) => Promise<void>) | undefined;
}

/** Follows redirects of GET requests. `timeoutMs` covers all hops together. */
export interface RedirectOptions {
  /** Redirects that are followed; none by default. */
  readonly maxRedirects?: number;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

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
  /** Replaces the system's resolver in tests. */
  readonly resolve?: Resolve;
  /** Traces requests, and passes the trace on in their headers. */
  readonly tracer?: Tracer;
}

const TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 8;
const MAX_BYTES = 1024 * 1024;
const MAX_URL_LENGTH = 2048;
/** Time limit for the rest of an ignored body. */
const DUMP_TIMEOUT_MS = 1000;

export function createOutboundClient(options: OutboundOptions): OutboundClient {
  const { tracer = noTracer } = options;
  const policy = createAddressPolicy(options.allowCidrs);
  const { maxConnections = MAX_CONNECTIONS, resolve } = options;
  let agent: Promise<Agent> | undefined;
  // The library takes a tenth of the memory of a server, so it is loaded with the first request.
  const loadAgent = async () => (await import("./agent.ts")).createAgent({ policy, timeoutMs: TIMEOUT_MS, maxConnections, resolve });
  const allowsHttp = options.allowCidrs.length > 0;
  const send = async (wanted: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> => {
    agent ??= loadAgent();
    return follow(await agent, { wanted, allowsHttp, signal });
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

/** `new URL` normalizes every spelling of an IPv4 address (octal, hexadecimal, one number, full-width digits). */
function parseOutboundUrl(text: string, allowsHttp: boolean): URL {
  if (text.length > MAX_URL_LENGTH || !URL.canParse(text)) throw new OutboundError("url", "not a URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") throw new OutboundError("url", "a URL with credentials is not accepted");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && allowsHttp))
    throw new OutboundError("scheme", `${url.host} must be reached by https`);
  return url;
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

interface Journey {
  readonly wanted: OutboundRequest;
  readonly allowsHttp: boolean;
  readonly signal: AbortSignal;
}

async function follow(agent: Agent, { wanted, allowsHttp, signal }: Journey): Promise<OutboundResponse> {
  let url = parseOutboundUrl(wanted.url, allowsHttp);
  let request = wanted;
  const isGet = (wanted.method ?? "GET") === "GET";
  for (let left = isGet ? (wanted.maxRedirects ?? 0) : 0; ; left--) {
    const answer = await exchange(agent, url, request, signal);
    if (!("location" in answer)) return answer;
    const { location, status } = answer;
    if (left === 0) throw new OutboundError("redirect", `${url.host} answered with a redirect`, { status });
    const next = parseOutboundUrl(targetOf(location, url, status), allowsHttp);
    // Anyone on the way could read and change what follows.
    if (url.protocol === "https:" && next.protocol !== "https:")
      throw new OutboundError("scheme", `${url.host} redirects to ${next.host} without https`, { status });
    if (next.origin !== url.origin) request = { ...request, headers: withoutCredentials(request.headers) };
    url = next;
  }
}

/** Statuses that name another address for the same GET request. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** @throws OutboundError for a redirect that cannot be followed */
function targetOf(location: string | undefined, from: URL, status: number): string {
  if (location === undefined || !REDIRECTS.has(status) || location.length > MAX_URL_LENGTH || !URL.canParse(location, from.href))
    throw new OutboundError("redirect", `${from.host} answered with a redirect that cannot be followed`, { status });
  return new URL(location, from).href;
}

/** Headers that only the origin that they were meant for may see. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);

function withoutCredentials(headers: OutboundRequest["headers"] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.has(name.toLowerCase())));
}

interface Redirect {
  readonly location: string | undefined;
  readonly status: number;
}

async function exchange(agent: Agent, url: URL, wanted: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse | Redirect> {
  const answer = await sendTo(agent, url, wanted, signal);
  const { statusCode: status, headers } = answer;
  // 304 is a valid response to a conditional request.
  if (status >= 300 && status < 400 && status !== 304) {
    answer.body.on("error", () => {}).destroy();
    return { location: typeof headers.location === "string" ? headers.location : undefined, status };
  }
  const maxBytes = wanted.maxBytes ?? MAX_BYTES;
  if (wanted.onBody !== undefined && status === 200) {
    const { onBody } = wanted;
    await forEachChunk(answer.body, url, maxBytes, (chunk) => onBody(chunk, headers));
    return { status, headers, body: Buffer.alloc(0) };
  }
  if (wanted.ignoreBody !== true) return { status, headers, body: await readBody(answer.body, url, maxBytes) };
  return { status, headers, body: await dump(answer.body, maxBytes, wanted.keepBytes ?? 0) };
}

/** Reads the body to its end or a limit. @returns its beginning */
async function dump(body: Dispatcher.ResponseData["body"], maxBytes: number, keepBytes: number): Promise<Buffer> {
  const timer = setTimeout(() => body.destroy(), DUMP_TIMEOUT_MS);
  const kept: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (size < keepBytes) kept.push(chunk.subarray(0, keepBytes - size));
      size += chunk.length;
      // Leaving the loop destroys the body and its connection.
      if (size > maxBytes) break;
    }
  } catch {
    // The beginning is all that there is.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(kept);
}

async function sendTo(agent: Agent, url: URL, wanted: OutboundRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { method = "GET", headers = {}, body = null } = wanted;
  try {
    return await agent.send(url, { method, headers: withUserAgent(headers), body, signal });
  } catch (error) {
    throw asOutboundError(error, url);
  }
}

/** Adds a User-Agent header unless the caller set one. */
function withUserAgent(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const hasUserAgent = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return hasUserAgent ? headers : { "User-Agent": "Holt", ...headers };
}

function asOutboundError(error: unknown, url: URL): OutboundError {
  // undici passes on the connector's error, directly or as a cause.
  if (error instanceof OutboundError) return error;
  if (error instanceof Error && error.cause instanceof OutboundError) return error.cause;
  return new OutboundError("connect", `${url.host} cannot be reached`, { cause: error });
}

async function readBody(body: Dispatcher.ResponseData["body"], url: URL, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await forEachChunk(body, url, maxBytes, (chunk) => void chunks.push(chunk));
  return Buffer.concat(chunks);
}

async function forEachChunk(
  body: Dispatcher.ResponseData["body"],
  url: URL,
  maxBytes: number,
  use: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  let size = 0;
  // Errors of `use` must not become an OutboundError, which would blame the remote server.
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      // Leaving the loop destroys the body and its connection.
      if (size > maxBytes) throw new OutboundError("too_large", `${url.host} answered more than ${maxBytes} bytes`);
      try {
        await use(chunk);
      } catch (error) {
        failure = { error };
        break;
      }
    }
  } catch (error) {
    throw asOutboundError(error, url);
  }
  if (failure !== undefined) throw failure.error;
}

/** Many times the largest key set. Callers choose issuers, and parsing their answers must not block the server. */
const JSON_LIMITS = { maxDepth: 32, maxValues: 10_000 };

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
