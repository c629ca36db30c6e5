/**
 * Calls over REST-JSON, for programs that know paths and not messages. Loads no descriptors, so a program with one call
 * starts at once.
 */
import { createBackoff, type RetryOptions } from "./backoff.ts";
import { assertBaseUrl } from "./base-url.ts";
import { type TokenSource, tokenBefore } from "./tokens/token-source.ts";

export interface RestOptions {
  /** URL of the server. */
  readonly baseUrl: string;
  /** Left out for calls that need no token. */
  readonly token?: TokenSource;
  /** The deadline of each attempt, its token included; default 60 seconds. */
  readonly timeoutMs?: number;
  readonly retry?: RetryOptions;
  /** Called after each attempt. */
  readonly onCall?: (call: RestRecord) => void;
  /** Replaces the runtime's own, e.g. to use a proxy. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface RestRequest {
  readonly method: string;
  /** Begins with a slash. May contain a query. */
  readonly path: string;
  /** Parameters with a list are repeated. */
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Sent as JSON, unless it is a string, a form, bytes or a stream of bytes. */
  readonly body?: unknown;
  /** Replaces that of the client. `Infinity` for transfers that take as long as they take. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** One attempt of a call. Contains no token and no message. */
export interface RestRecord {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly requestId: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Undefined if the server did not answer. */
  readonly status: number | undefined;
  /** The header `Warning`, which names input that the server ignored. */
  readonly warning: string | undefined;
}

export interface Rest {
  /** The answer as JSON; undefined if it has no body. Rejects with HoltError, or with the error of the token source. */
  call(request: RestRequest): Promise<unknown>;
  /** The answer as the server sends it, if it is not an error. Rejects like `call`. */
  fetch(request: RestRequest): Promise<Response>;
}

/** Opens no connection before the first call. Only calls with the method GET or HEAD are repeated. @throws TypeError for a malformed URL */
export function createRest(options: RestOptions): Rest {
  assertBaseUrl(options.baseUrl);
  const backOff = createBackoff(options.retry);
  const failureFrom = async (error: unknown) => (await import("./rest-failure.ts")).restFailureFrom(error, options.baseUrl);
  async function send<T>(request: RestRequest, read: (response: Response) => T | Promise<T>): Promise<T> {
    const signal = request.signal ?? new AbortController().signal;
    const isRepeatable = request.method === "GET" || request.method === "HEAD";
    for (let attempt = 1; ; attempt++) {
      try {
        return await read(await sendOnce(options, request, attempt));
      } catch (error) {
        const failure = await failureFrom(error);
        if (signal.aborted || !isRepeatable) throw failure;
        const isRepeated = await backOff(attempt, failure, signal).catch(async (reason: unknown) => {
          throw await failureFrom(reason);
        });
        if (!isRepeated) throw failure;
      }
    }
  }
  return {
    fetch: (request) => send(request, (response) => response),
    call: (request) => send(request, readJson),
  };
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new UnreadableAnswer("the answer is not JSON", { cause });
  }
}

/** A successful answer of something else than Holt, such as the sign-in page of a proxy. */
export class UnreadableAnswer extends Error {}

/** An answer that is an error, with the body read. */
export class RefusedAnswer extends Error {
  readonly response: Response;
  readonly body: string;
  readonly requestId: string;
  constructor(response: Response, body: string, requestId: string) {
    super(`the server answered ${response.status}`);
    this.response = response;
    this.body = body;
    this.requestId = requestId;
  }
}

async function sendOnce(options: RestOptions, request: RestRequest, attempt: number): Promise<Response> {
  const { baseUrl, token, timeoutMs = 60_000, onCall, fetch = globalThis.fetch } = options;
  const path = pathOf(request);
  // The names of headers are the same in any case of their letters.
  const headers = new Headers(request.headers);
  const requestId = headers.get("x-request-id") ?? crypto.randomUUID();
  headers.set("x-request-id", requestId);
  const signal = signalOf(request, timeoutMs);
  if (token !== undefined && !headers.has("authorization"))
    headers.set("authorization", `Bearer ${(await (signal === null ? token() : tokenBefore(signal, token))).token}`);
  const body = bodyOf(request.body);
  const isJson = typeof request.body === "object" && typeof body === "string";
  if (isJson && !headers.has("content-type")) headers.set("content-type", "application/json");
  const begin = performance.now();
  let status: number | undefined;
  let warning: string | undefined;
  try {
    const url = `${baseUrl.replace(/\/+$/, "")}${path}`;
    const init = { method: request.method, headers, signal, redirect: "manual", ...(body !== undefined && { body }) } as const;
    // Without `duplex`, fetch refuses a stream.
    const response = await fetch(url, body instanceof ReadableStream ? ({ ...init, duplex: "half" } as RequestInit) : init);
    status = response.status;
    warning = response.headers.get("warning") ?? undefined;
    if (!response.ok) throw new RefusedAnswer(response, await response.text(), requestId);
    return response;
  } finally {
    onCall?.({ method: request.method, path, requestId, attempt, durationMs: performance.now() - begin, status, warning });
  }
}

function signalOf({ signal, timeoutMs }: RestRequest, timeoutOfClient: number): AbortSignal | null {
  const limit = timeoutMs ?? timeoutOfClient;
  if (limit === Number.POSITIVE_INFINITY) return signal ?? null;
  const deadline = AbortSignal.timeout(limit);
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}

function pathOf({ path, query = {} }: RestRequest): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of typeof value === "string" ? [value] : value) parameters.append(name, item);
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${text}`;
}

type Body = string | URLSearchParams | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

function bodyOf(body: unknown): Body | undefined {
  if (body === undefined || typeof body === "string" || body instanceof URLSearchParams || body instanceof ReadableStream) return body;
  return body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body);
}
