/**
 * The one way in which Holt makes HTTP requests to addresses that others gave it: discovery, keys, caller proofs, webhooks.
 *
 * Only https, and only to public addresses; the operator's ranges (HOLT_OUTBOUND_ALLOW_CIDRS) add to that. Plain http goes only to an
 * address inside such a range, and loopback is no exception: an issuer on http://127.0.0.1:PORT works where the operator allows
 * 127.0.0.0/8, and nowhere else, because otherwise any token could make the server talk to its own host. No redirects, no proxies from
 * the environment, no decompression; answers are bounded in size and in total time.
 */
import { Agent, type Dispatcher, request as send } from "undici";
import { createAddressPolicy } from "./address.ts";
import { createConnector } from "./connector.ts";
import { OutboundError } from "./error.ts";
import type { Resolve } from "./name-lookup.ts";

export interface OutboundLimits {
  readonly signal?: AbortSignal | undefined;
  /** For everything from the first look-up to the last byte of the body. Default 10 s. */
  readonly timeoutMs?: number | undefined;
  /** Of the answer's body. Default 1 MB. */
  readonly maxBytes?: number | undefined;
}

export interface OutboundRequest extends OutboundLimits {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * The answer is its status and headers; its body is read only so that the connection can be used again. Where it does not end within `maxBytes`
   * and a moment, the connection is closed, and that is no failure.
   */
  readonly ignoreBody?: boolean;
  /** Takes the body of a 200 answer piece by piece, in place of the answer, when its headers are known; the next piece waits until it resolves. */
  readonly onBody?: ((piece: Buffer, headers: OutboundResponse["headers"]) => Promise<void>) | undefined;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface OutboundClient extends AsyncDisposable {
  /** Any status is an answer, except a redirect, which is an OutboundError like every other failure. */
  request(request: OutboundRequest): Promise<OutboundResponse>;
  /** GET; any status but 200 is an OutboundError. */
  fetchJson(url: string, limits?: OutboundLimits): Promise<unknown>;
}

export interface OutboundOptions {
  readonly allowCidrs: readonly string[];
  /** Per origin, default 8: one more request waits for its turn. Unused ones are closed. */
  readonly maxConnections?: number;
  /** In place of the system's resolver, for tests. */
  readonly resolve?: Resolve;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
const MAX_URL_LENGTH = 2048;
const MAX_HEADER_BYTES = 16 * 1024;
/** For the rest of an answer that nobody reads. */
const DUMP_MS = 1000;

export function createOutboundClient(options: OutboundOptions): OutboundClient {
  const connect = createConnector(createAddressPolicy(options.allowCidrs), TIMEOUT_MS, options.resolve);
  const agent = new Agent({
    connect,
    connections: options.maxConnections ?? 8,
    pipelining: 1,
    keepAliveTimeout: 4000,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const hasRanges = options.allowCidrs.length > 0;
  const request = (wanted: OutboundRequest): Promise<OutboundResponse> =>
    withinTime(wanted, (signal) => exchange(agent, parseOutboundUrl(wanted.url, hasRanges), wanted, signal));
  return {
    request,
    async fetchJson(url, limits) {
      return jsonOf(await request({ ...limits, url, headers: { accept: "application/json" } }), url);
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/** The parser of URLs has turned every spelling of an IPv4 address (octal, hexadecimal, one number, full-width digits) into four decimals. */
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
    () => controller.abort(new OutboundError("timeout", "no complete answer in time")),
    limits.timeoutMs ?? TIMEOUT_MS,
  );
  const giveUp = (): void => controller.abort(new OutboundError("aborted", "the request was given up"));
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

async function exchange(agent: Agent, url: URL, wanted: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
  const answer = await sendTo(agent, url, wanted, signal);
  const { statusCode: status, headers } = answer;
  // 304 is what a conditional request asks for.
  if (status >= 300 && status < 400 && status !== 304) {
    answer.body.on("error", () => {}).destroy();
    throw new OutboundError("redirect", `${url.host} answered with a redirect`, { status });
  }
  const maxBytes = wanted.maxBytes ?? MAX_BYTES;
  if (wanted.onBody !== undefined && status === 200) {
    const { onBody } = wanted;
    await takeBody(answer.body, url, maxBytes, (piece) => onBody(piece, headers));
    return { status, headers, body: Buffer.alloc(0) };
  }
  if (wanted.ignoreBody !== true) return { status, headers, body: await readBody(answer.body, url, maxBytes) };
  await dump(answer.body, maxBytes);
  return { status, headers, body: Buffer.alloc(0) };
}

async function dump(body: Dispatcher.ResponseData["body"], maxBytes: number): Promise<void> {
  const timer = setTimeout(() => body.destroy(), DUMP_MS);
  body.on("error", () => {});
  await body.dump({ limit: maxBytes }).catch(() => {});
  clearTimeout(timer);
}

async function sendTo(agent: Agent, url: URL, wanted: OutboundRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { method = "GET", headers = {}, body = null } = wanted;
  try {
    return await send(url, { dispatcher: agent, method, headers: named(headers), body, signal });
  } catch (error) {
    throw asOutboundError(error, url);
  }
}

/** Who asks says so once, under whatever spelling of the name the caller has. */
function named(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const hasName = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return hasName ? headers : { "User-Agent": "Holt", ...headers };
}

function asOutboundError(error: unknown, url: URL): OutboundError {
  // undici hands on what the connector gave it, as it is or as a cause.
  if (error instanceof OutboundError) return error;
  if (error instanceof Error && error.cause instanceof OutboundError) return error.cause;
  return new OutboundError("connect", `${url.host} cannot be reached`, { cause: error });
}

async function readBody(body: Dispatcher.ResponseData["body"], url: URL, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await takeBody(body, url, maxBytes, (piece) => void chunks.push(piece));
  return Buffer.concat(chunks);
}

async function takeBody(
  body: Dispatcher.ResponseData["body"],
  url: URL,
  maxBytes: number,
  take: (piece: Buffer) => Promise<void> | void,
): Promise<void> {
  let size = 0;
  // What the taker throws is its own: it is no fault of the other side.
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      // Leaving the loop destroys the body, and with it the connection.
      if (size > maxBytes) throw new OutboundError("too_large", `${url.host} answered more than ${maxBytes} bytes`);
      try {
        await take(chunk);
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

function jsonOf(response: OutboundResponse, url: string): unknown {
  const { host } = new URL(url);
  if (response.status !== 200)
    throw new OutboundError("status", `${host} answered with status ${response.status}`, { status: response.status });
  try {
    return JSON.parse(response.body.toString("utf8"));
  } catch {
    // Without the cause: its text quotes the body.
    throw new OutboundError("body", `${host} did not answer JSON`);
  }
}
