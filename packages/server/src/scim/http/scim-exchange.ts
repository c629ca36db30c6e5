/** One SCIM request on its way through the handlers, and helpers to read and answer it. */
import { type HttpRequest, type HttpResponse, send } from "../../http/http-exchange.ts";
import type { ProtocolExchange } from "../../http/protocol-frame.ts";
import { readBody } from "../../http/read-body.ts";
import type { Allowance } from "../../http/request-memory.ts";
import type { FairLimit } from "../../jobs/limit.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { isRecord } from "../../lib/is-record.ts";
import type { Directory } from "../directory.ts";
import type { Json } from "../schema.ts";
import { badRequest, ScimError } from "../scim-error.ts";
import { CONTENT_TYPE } from "./error.ts";
import { jsonParser } from "./json-parser.ts";
import type { ScimRoute } from "./routes.ts";

/** A request whose sender is authenticated. */
export interface ScimExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  readonly route: ScimRoute;
  readonly query: URLSearchParams;
  readonly directory: Directory;
  /** The directory for one operation of a bulk request. Audit entries name the method of the operation. */
  readonly directoryFor: (method: string) => Directory;
  /** The SCIM URL of the provider, without a trailing slash. */
  readonly base: string;
  readonly allowance: Allowance;
  readonly parsers: Parsers;
  readonly scans: FairLimit;
  /** Bulk requests at the same time. */
  readonly bulks: FairLimit;
  /** Runs a step whose duration the client controls, such as reading a body, without a slot (`http/protocol-frame.ts`). */
  readonly transfer: ProtocolExchange["transfer"];
  /** Logs an error that is the server's own fault. */
  readonly reportFault: (error: unknown) => void;
}

/**
 * @param maxBytes less than the limit of all bodies
 * @throws ScimError invalidSyntax, 413
 */
export async function readJson(exchange: ScimExchange, maxBytes = exchange.allowance.messageBytes): Promise<Json> {
  const { request, allowance, transfer, parsers, directory } = exchange;
  const bytes = await transfer(async () => readBody(request, allowance));
  if (bytes.length > maxBytes) throw new ScimError(413, undefined, `the body is larger than ${maxBytes} bytes (maxPayloadSize): split it`);
  const read = await parsers.run(jsonParser, bytes, directory.provider.uid);
  if (read === undefined) throw badRequest("invalidSyntax", "the body is not valid JSON, or an object has the same name twice");
  if (!isRecord(read.body)) throw badRequest("invalidSyntax", "the body must be a JSON object");
  return read.body;
}

export function answerJson({ response }: ScimExchange, status: number, body: Json, headers: Record<string, string> = {}): void {
  send(response, status, { type: CONTENT_TYPE, text: JSON.stringify(body) }, { ...headers, "cache-control": "no-store" });
}

export function answerNothing({ response }: ScimExchange, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = 204;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end();
}

/** @throws ScimError 405 */
export function assertMethod({ method, response }: ScimExchange, ...allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  response.setHeader("allow", allowed.join(", "));
  throw new ScimError(405, undefined, `use ${allowed.join(" or ")} here`);
}

export function noSuchPath(): ScimError {
  return new ScimError(404, undefined, "unknown path");
}
