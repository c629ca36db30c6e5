/** Turns errors into responses of the registry: a status and the envelope of the distribution specification. */
import { DigestMismatch, NoSuchBlob, NoSuchUpload, RangeMismatch } from "../../blobs/store.ts";
import { httpStatusOf, type StatusOverrides } from "../../http/error-status.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { UnsatisfiableRange } from "../../http/send-blob.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { type OciCode, OciError } from "../oci-error.ts";

/** The status of each code of the specification (1.1, "Error codes"). UNKNOWN is for faults of the server, which have no code there. */
const STATUS: Readonly<Record<OciCode | "UNKNOWN", number>> = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 400,
  BLOB_UPLOAD_UNKNOWN: 404,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 404,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_INVALID: 400,
  NAME_UNKNOWN: 404,
  SIZE_INVALID: 400,
  UNAUTHORIZED: 401,
  DENIED: 403,
  UNSUPPORTED: 405,
  TOOMANYREQUESTS: 429,
  UNKNOWN: 500,
};

export interface OciErrorResponse {
  readonly code: OciCode | "UNKNOWN";
  readonly status: number;
  readonly message: string;
  readonly detail?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error for which HTTP has a more specific status than the code of the specification, or requires a header. */
export class HttpOciError extends OciError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(code: OciCode, status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

const OCI_CODE: ReadonlyMap<Code, OciCode> = new Map([
  [Code.UNAUTHENTICATED, "UNAUTHORIZED"],
  [Code.PERMISSION_DENIED, "DENIED"],
  [Code.FAILED_PRECONDITION, "DENIED"],
  [Code.NOT_FOUND, "NAME_UNKNOWN"],
  [Code.INVALID_ARGUMENT, "NAME_INVALID"],
  [Code.RESOURCE_EXHAUSTED, "TOOMANYREQUESTS"],
]);

const STATUS_OVERRIDES: StatusOverrides = {
  // The only precondition here is that terms are accepted. Clients show the message of a 403.
  [Code.FAILED_PRECONDITION]: 403,
  // Clients repeat a request after 503, but not after 409.
  [Code.ABORTED]: 503,
};

/** @param reportFault receives unexpected errors, whose text the response does not contain */
export function responseFromError(thrown: unknown, reportFault: (error: unknown) => void): OciErrorResponse {
  if (thrown instanceof OciError) return fromOciError(thrown);
  if (thrown instanceof HoltError) return fromHoltError(thrown, reportFault);
  if (thrown instanceof DigestMismatch) return withStatus("DIGEST_INVALID", "the content has another digest");
  if (thrown instanceof NoSuchBlob) return withStatus("BLOB_UNKNOWN", "there is no such blob");
  if (thrown instanceof NoSuchUpload) return withStatus("BLOB_UPLOAD_UNKNOWN", "the upload does not exist");
  if (thrown instanceof UnsatisfiableRange) return { code: "SIZE_INVALID", status: 416, message: thrown.message, headers: thrown.headers };
  if (thrown instanceof RangeMismatch) return { code: "BLOB_UPLOAD_INVALID", status: 416, message: thrown.message };
  reportFault(thrown);
  return withStatus("UNKNOWN", "internal error");
}

/** Names each field: the message of an error is not enumerable, so callers that spread one would lose it. */
function fromOciError(error: OciError): OciErrorResponse {
  const { code, message, detail } = error;
  return error instanceof HttpOciError
    ? { code, status: error.status, message, detail, headers: error.headers }
    : withStatus(code, message, detail);
}

function fromHoltError(error: HoltError, reportFault: (error: unknown) => void): OciErrorResponse {
  const status = httpStatusOf(error, STATUS_OVERRIDES);
  if (error.code === Code.INTERNAL) reportFault(error.cause);
  const retryAfter = error.details.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  const code = status === 413 ? "SIZE_INVALID" : (OCI_CODE.get(error.code) ?? "UNKNOWN");
  return { code, status, message: error.message, headers };
}

function withStatus(code: OciCode | "UNKNOWN", message: string, detail?: unknown): OciErrorResponse {
  return { code, status: STATUS[code], message, detail };
}

export function sendOciError(response: HttpResponse, { code, status, message, detail, headers }: OciErrorResponse): void {
  const body = JSON.stringify({ errors: [{ code, message, ...(detail !== undefined && { detail }) }] });
  send(response, status, { type: "application/json", text: body }, { ...headers, "cache-control": "no-store" });
}
