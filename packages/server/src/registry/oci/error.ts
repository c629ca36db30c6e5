/** Errors of the registry on the wire, and the only place that writes them: status by code, in the specification's envelope. */
import { DigestMismatch, NoSuchBlob, NoSuchUpload, RangeMismatch } from "../../blobs/store.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { UnsatisfiableRange } from "../../http/send-blob.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { type OciCode, OciError } from "../oci-error.ts";

/** Distribution specification 1.1, "Error codes". The last is for faults of the server, for which it has no code. */
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

/** An error as it is answered. */
export interface ErrorAnswer {
  readonly code: OciCode | "UNKNOWN";
  readonly status: number;
  readonly message: string;
  readonly detail?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where HTTP has a status of its own for what went wrong, or a header that must go with it. */
export class HttpOciError extends OciError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(code: OciCode, status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

const OF_HOLT: ReadonlyMap<number, OciCode> = new Map([
  [Code.UNAUTHENTICATED, "UNAUTHORIZED"],
  [Code.PERMISSION_DENIED, "DENIED"],
  // Terms that are not accepted.
  [Code.FAILED_PRECONDITION, "DENIED"],
  [Code.NOT_FOUND, "NAME_UNKNOWN"],
  [Code.INVALID_ARGUMENT, "NAME_INVALID"],
  [Code.RESOURCE_EXHAUSTED, "TOOMANYREQUESTS"],
]);

/** What nobody foresaw is logged, and leaves without its text. */
export function answerFromError(thrown: unknown, log: Log): ErrorAnswer {
  if (thrown instanceof HttpOciError) return thrown;
  if (thrown instanceof OciError) return withStatus(thrown.code, thrown.message, thrown.detail);
  if (thrown instanceof HoltError) return fromHoltError(thrown, log);
  if (thrown instanceof DigestMismatch) return withStatus("DIGEST_INVALID", "the content has another digest");
  if (thrown instanceof NoSuchBlob) return withStatus("BLOB_UNKNOWN", "there is no such blob");
  if (thrown instanceof NoSuchUpload) return withStatus("BLOB_UPLOAD_UNKNOWN", "there is no such upload");
  if (thrown instanceof UnsatisfiableRange) return { code: "SIZE_INVALID", status: 416, message: thrown.message, headers: thrown.headers };
  if (thrown instanceof RangeMismatch) return { code: "BLOB_UPLOAD_INVALID", status: 416, message: thrown.message };
  log.error({ err: thrown }, "the registry could not serve a request");
  return withStatus("UNKNOWN", "internal error");
}

function fromHoltError(error: HoltError, log: Log): ErrorAnswer {
  const code = OF_HOLT.get(error.code);
  if (code !== undefined) return withStatus(code, error.message);
  if (error.code === Code.INTERNAL) log.error({ err: error.cause }, "the registry could not serve a request");
  const isPassing = error.code === Code.UNAVAILABLE || error.code === Code.ABORTED;
  return isPassing
    ? { code: "UNKNOWN", status: 503, message: error.message, headers: { "retry-after": "1" } }
    : withStatus("UNKNOWN", error.message);
}

function withStatus(code: OciCode | "UNKNOWN", message: string, detail?: unknown): ErrorAnswer {
  return { code, status: STATUS[code], message, detail };
}

export function sendOciError(response: HttpResponse, { code, status, message, detail, headers }: ErrorAnswer): void {
  const body = JSON.stringify({ errors: [{ code, message, ...(detail !== undefined && { detail }) }] });
  send(response, status, "application/json", body, { ...headers, "cache-control": "no-store" });
}
