/** Turns errors into SCIM responses, in the envelope of RFC 7644 §3.12. */
import { httpStatusOf, isServerFault, type StatusOverrides } from "../../http/error-status.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { Code, HoltError, internal } from "../../lib/errors.ts";
import type { Json } from "../schema.ts";
import { ScimError } from "../scim-error.ts";

export const CONTENT_TYPE = "application/scim+json";
const SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";

/** Directories repeat a request after 503. RFC 7644 has 409 for values that are taken. */
const STATUS_OVERRIDES: StatusOverrides = { [Code.ABORTED]: 503 };

/** @param reportFault receives unexpected errors, whose text the response does not contain */
export function sendScimError(response: HttpResponse, thrown: unknown, reportFault: (error: unknown) => void): void {
  const { status, body, headers } = scimErrorOf(thrown, reportFault);
  send(response, status, { type: CONTENT_TYPE, text: JSON.stringify(body) }, { ...headers, "cache-control": "no-store" });
}

interface RenderedError {
  readonly status: number;
  readonly body: Json;
  readonly headers: Record<string, string> | undefined;
}

/** The error as a SCIM resource. */
export function scimErrorOf(thrown: unknown, reportFault: (error: unknown) => void): RenderedError {
  const { status, scimType, detail, headers } = responseFromError(thrown, reportFault);
  return { status, body: { schemas: [SCHEMA], status: String(status), ...(scimType !== undefined && { scimType }), detail }, headers };
}

interface ScimErrorResponse {
  readonly status: number;
  readonly scimType?: string | undefined;
  readonly detail: string;
  readonly headers?: Record<string, string>;
}

function responseFromError(thrown: unknown, reportFault: (error: unknown) => void): ScimErrorResponse {
  if (thrown instanceof ScimError) return { status: thrown.status, scimType: thrown.scimType, detail: thrown.message };
  const error = thrown instanceof HoltError ? thrown : internal(thrown);
  const status = httpStatusOf(error, STATUS_OVERRIDES);
  if (!isServerFault(status)) return { status, detail: error.message, headers: headersOf(status, error) };
  reportFault(error.cause ?? error);
  return { status: 500, detail: "internal error" };
}

function headersOf(status: number, { details }: HoltError): Record<string, string> {
  if (status === 401) return { "www-authenticate": 'Bearer realm="SCIM"' };
  return status === 429 || status === 503 ? { "retry-after": String(details.retryAfterSeconds ?? 1) } : {};
}
