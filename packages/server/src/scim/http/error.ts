/** Errors of SCIM on the wire, and the only place that writes them: the envelope of RFC 7644 §3.12. */

import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { MessageTooLargeError } from "../../http/request-memory.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { ScimError } from "../scim-error.ts";

export const CONTENT_TYPE = "application/scim+json";
const SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";

const STATUS: ReadonlyMap<number, number> = new Map([
  [Code.UNAUTHENTICATED, 401],
  [Code.INVALID_ARGUMENT, 400],
  [Code.CANCELLED, 400],
  [Code.RESOURCE_EXHAUSTED, 429],
  [Code.ABORTED, 503],
  [Code.UNAVAILABLE, 503],
]);

/** What nobody foresaw is logged, and leaves without its text. */
export function sendScimError(response: HttpResponse, thrown: unknown, log: Log): void {
  const { status, scimType, detail, headers } = answerFrom(thrown, log);
  const body = JSON.stringify({ schemas: [SCHEMA], status: String(status), ...(scimType !== undefined && { scimType }), detail });
  send(response, status, CONTENT_TYPE, body, { ...headers, "cache-control": "no-store" });
}

interface Answer {
  readonly status: number;
  readonly scimType?: string | undefined;
  readonly detail: string;
  readonly headers?: Record<string, string>;
}

function answerFrom(thrown: unknown, log: Log): Answer {
  if (thrown instanceof ScimError) return { status: thrown.status, scimType: thrown.scimType, detail: thrown.message };
  if (thrown instanceof MessageTooLargeError) return { status: 413, detail: thrown.message };
  const status = thrown instanceof HoltError ? STATUS.get(thrown.code) : undefined;
  if (!(thrown instanceof HoltError) || status === undefined) {
    log.error({ err: thrown }, "a SCIM request could not be served");
    return { status: 500, detail: "internal error" };
  }
  return { status, detail: thrown.message, headers: headersOf(status, thrown) };
}

function headersOf(status: number, { details }: HoltError): Record<string, string> {
  if (status === 401) return { "www-authenticate": 'Bearer realm="SCIM"' };
  return status === 429 || status === 503 ? { "retry-after": String(details.retryAfterSeconds ?? 1) } : {};
}
