/**
 * The frame around every protocol over HTTP that is not a call of the contract, such as the container registry or SCIM. For each request
 * it takes a slot of the process's concurrency limit, answers errors, stops clients from sending bodies that nobody reads, and writes one
 * line into the request log. It does not authenticate or authorize: that is the work of the protocol.
 */
import type { OutgoingHttpHeaders } from "node:http";
import { type AuditRecorder, refusalOf } from "../audit/audit-recorder.ts";
import type { DiskSpace } from "../jobs/disk-space.ts";
import type { ConcurrencyLimit, Slot } from "../jobs/limit.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { rootOf } from "../lib/uid.ts";
import { cutOffSoon } from "./body-time.ts";
import type { CallerSlots } from "./caller-slots.ts";
import { type HttpRequest, type HttpResponse, type RequestHandler, remoteAddressOf } from "./http-exchange.ts";
import type { ProtocolMetrics } from "./protocol-metrics.ts";

/** One request on its way through a protocol. */
export interface ProtocolExchange<State = unknown> {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  /** The path of the URL as the client sent it, without the query. */
  readonly path: string;
  /** The query of the URL, without the question mark. */
  readonly query: string;
  readonly remoteAddress: string;
  /** The protocol's own facts about the request. */
  readonly state: State;
  /** The uid of the caller, for the request log; undefined for an anonymous caller, and until the caller is known. */
  principal: string | undefined;
  /**
   * Sets `principal`, and counts the response for this caller. Call it once the caller is known, before any work for it.
   * @param principal uid; undefined for an anonymous caller
   * @throws RESOURCE_EXHAUSTED while the caller has too many connections or too many unread bytes of responses
   */
  identify(principal: string | undefined): void;
  /** Gives the slot of the process back early, for a request that holds a slot of its caller. */
  releaseSlot(): void;
  /**
   * Takes a slot of the caller, until the result is disposed of.
   * @throws RESOURCE_EXHAUSTED while the caller has too many
   */
  takeCallerSlot(): Disposable;
  /**
   * Runs the part of a request that takes as long as the client likes, because it sends or receives content. Meanwhile the request holds
   * a slot of its caller and none of the process.
   * @throws RESOURCE_EXHAUSTED while the caller has too many transfers
   */
  transfer<T>(work: () => Promise<T>): Promise<T>;
  /** Logs an error that is the server's own fault, and that the response must not reveal. */
  reportFault(error: unknown): void;
}

export interface Protocol<State> {
  /** The message of the protocol's lines in the request log. */
  readonly name: string;
  /** Whether requests other than GET, HEAD, OPTIONS and DELETE store content, which needs space on the disk. */
  readonly storesContent?: boolean;
  /** Must not throw. */
  createState(request: HttpRequest): State;
  /**
   * Reads what an anonymous caller sends, before the request takes a slot: anonymous callers could otherwise hold all slots by sending
   * slowly. Protocols that know the caller from the headers read the body in `serve`.
   */
  read?(exchange: ProtocolExchange<State>): Promise<void>;
  serve(exchange: ProtocolExchange<State>): Promise<void> | void;
  /** Answers an error that `read`, `serve` or the concurrency limit threw, in the protocol's own form. No header has been sent yet. */
  refuse(exchange: ProtocolExchange<State>, error: unknown): void;
  /** Further fields of the line in the request log. They must not contain secrets. */
  logFields?(exchange: ProtocolExchange<State>): object;
  /** Whether the audit log has successful requests too, because they issue tokens. It always has refusals. */
  readonly issuesTokens?: boolean;
}

export interface ProtocolFrameOptions {
  /** The limit of the process, shared with the calls of the contract. */
  readonly limit: ConcurrencyLimit;
  /** Slots for transfers, shared by all protocols. */
  readonly callerSlots: CallerSlots;
  /** Undefined to store content as long as the disk takes it. */
  readonly disk?: DiskSpace | undefined;
  readonly log: Log;
  readonly metrics?: ProtocolMetrics | undefined;
  readonly tracer?: Tracer | undefined;
  readonly clock: Clock;
  readonly recorder: AuditRecorder;
}

export type ProtocolFrame = <State>(protocol: Protocol<State>) => RequestHandler;

export function createProtocolFrame(options: ProtocolFrameOptions): ProtocolFrame {
  return (protocol) => {
    options.metrics?.admit(protocol.name);
    return (request, response) => void handleTraced(request, response, protocol, options);
  };
}

const GROWS_NOTHING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** Never rejects. */
function handleTraced<State>(
  request: HttpRequest,
  response: HttpResponse,
  protocol: Protocol<State>,
  options: ProtocolFrameOptions,
): Promise<void> {
  const { tracer = noTracer } = options;
  if (!tracer.isActive) return handle(request, response, protocol, options);
  const { method, headers } = request;
  const attributes = { "http.request.method": method };
  return tracer.span({ name: `${protocol.name} ${method}`, kind: "server", attributes, parent: headers }, async (span) => {
    await handle(request, response, protocol, options);
    span.set({ "http.response.status_code": response.statusCode });
  });
}

/** Never rejects. */
async function handle<State>(
  request: HttpRequest,
  response: HttpResponse,
  protocol: Protocol<State>,
  options: ProtocolFrameOptions,
): Promise<void> {
  const { limit, disk, log, metrics } = options;
  const started = performance.now();
  const exchange = new Exchange(request, response, protocol, options);
  let failure: unknown;
  // Only a request that changes nothing can be refused once its work is done.
  if (response.answer !== undefined) response.answer.mayRefuse = request.method === "GET" || request.method === "HEAD";
  try {
    if (protocol.storesContent && !GROWS_NOTHING.has(exchange.method)) disk?.assertFor(Number(request.headers["content-length"] ?? 0));
    await protocol.read?.(exchange);
    await limit.run(async (slot) => {
      exchange.slot = slot;
      await protocol.serve(exchange);
    });
  } catch (error) {
    failure = error;
    refuse(exchange, error, protocol, log);
  } finally {
    const ms = performance.now() - started;
    metrics?.record(protocol.name, exchange.method, response.statusCode, ms / 1000);
    logRequest(exchange, ms, protocol, log);
    recordRequest(exchange, failure, protocol, options);
  }
}

class Exchange<State> implements ProtocolExchange<State> {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  readonly state: State;
  readonly reportFault: (error: unknown) => void;
  /** The headers that the response had before the protocol saw the request. */
  readonly firstHeaders: OutgoingHttpHeaders;
  readonly #callerSlots: CallerSlots;
  principal: string | undefined;
  slot: Slot | undefined;

  constructor(request: HttpRequest, response: HttpResponse, protocol: Protocol<State>, { callerSlots, log }: ProtocolFrameOptions) {
    const { method = "", url = "" } = request;
    const mark = url.indexOf("?");
    this.request = request;
    this.response = response;
    this.method = method;
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? "" : url.slice(mark + 1);
    this.remoteAddress = remoteAddressOf(request, response);
    this.state = protocol.createState(request);
    this.firstHeaders = response.getHeaders();
    this.#callerSlots = callerSlots;
    this.reportFault = (err) => log.error({ err, protocol: protocol.name }, "a request failed because of an error of the server");
  }

  identify(principal: string | undefined): void {
    this.principal = principal;
    this.response.answer?.identify(principal);
  }

  releaseSlot(): void {
    this.slot?.release();
  }

  takeCallerSlot(): Disposable {
    return this.#callerSlots.take(this.principal, this.response.answer?.client.network);
  }

  async transfer<T>(work: () => Promise<T>): Promise<T> {
    using _slot = this.takeCallerSlot();
    this.slot?.release();
    try {
      return await work();
    } finally {
      this.slot?.retake();
    }
  }
}

function refuse<State>(exchange: Exchange<State>, error: unknown, protocol: Protocol<State>, log: Log): void {
  const { request, response } = exchange;
  if (response.headersSent) {
    log.error({ err: error, protocol: protocol.name }, "a response broke off");
    response.destroy();
    return;
  }
  if (response.answer !== undefined) response.answer.mayRefuse = false;
  if (response.answer?.hasRefused) removeContentHeaders(exchange);
  try {
    protocol.refuse(exchange, error);
  } catch (err) {
    exchange.reportFault(err);
    response.destroy();
  }
  cutOffSoon(request, response);
}

/** Headers of content that was refused do not describe the error. */
function removeContentHeaders<State>({ response, firstHeaders }: Exchange<State>): void {
  for (const name of response.getHeaderNames()) if (!(name in firstHeaders)) response.removeHeader(name);
}

function logRequest<State>(exchange: ProtocolExchange<State>, ms: number, protocol: Protocol<State>, log: Log): void {
  const { response, method, principal, remoteAddress: remote } = exchange;
  log.info(
    { method, status: response.statusCode, ms: Math.round(ms * 1000) / 1000, principal, remote, ...protocol.logFields?.(exchange) },
    protocol.name,
  );
}

/** Changes are not recorded here: they write their entries in their own transactions. */
function recordRequest<State>(
  exchange: ProtocolExchange<State>,
  failure: unknown,
  { name, issuesTokens = false }: Protocol<State>,
  { recorder, clock }: ProtocolFrameOptions,
): void {
  const { request, response, method, path, principal = "", remoteAddress } = exchange;
  const { statusCode } = response;
  const isRefused = statusCode === 401 || statusCode === 403;
  // A client that sends no credentials at first, and gets a challenge, was not refused anything.
  const isChallenge = statusCode === 401 && request.headers.authorization === undefined && (method === "GET" || method === "HEAD");
  if (isChallenge || !(isRefused || (issuesTokens && statusCode === 200))) return;
  const outcome = isRefused ? refusalOf(failure) : { outcome: "OK" };
  const { message = "" } = outcome;
  recorder.record({
    ...outcome,
    remoteAddress,
    protocol: name,
    now: clock.now(),
    action: `${name} ${method}`,
    actor: principal,
    client: request.headers["user-agent"],
    message: message === "" ? path : `${path}: ${message}`,
    target: principal,
    organization: rootOf(principal),
  });
}
