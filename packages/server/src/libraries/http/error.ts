/** Turns errors into responses of libraries: one sentence, which package managers show. */
import { NoSuchBlob } from "../../blobs/store.ts";
import { httpStatusOf, isServerFault, type StatusOverrides } from "../../http/error-status.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { UnsatisfiableRange } from "../../http/send-blob.ts";
import { Code, HoltError, internal } from "../../lib/errors.ts";

/** An error for which HTTP has a more specific status than its code, or requires a header. */
export class LibraryRefusal extends Error {
  override readonly name = "LibraryRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const STATUS_OVERRIDES: StatusOverrides = {
  // Terms that are not accepted, or the status of a project. Package managers show the message of a 403.
  [Code.FAILED_PRECONDITION]: 403,
  // Package managers repeat a request after 503. They take 409 to mean that the file exists already.
  [Code.ABORTED]: 503,
};

const MAX_REASON_LENGTH = 300;

/** @param reportFault receives unexpected errors, whose text the response does not contain */
export function sendLibraryError(response: HttpResponse, thrown: unknown, reportFault: (error: unknown) => void): void {
  const { status, message, headers } = refusalFrom(thrown, reportFault);
  // Twine and pip show the reason phrase of HTTP/1.1. HTTP/2 has none.
  if (!("stream" in response)) response.statusMessage = message.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_REASON_LENGTH);
  send(response, status, { type: "text/plain; charset=utf-8", text: `${message}\n` }, { ...headers, "cache-control": "no-store" });
}

function refusalFrom(thrown: unknown, reportFault: (error: unknown) => void): LibraryRefusal {
  if (thrown instanceof LibraryRefusal) return thrown;
  if (thrown instanceof UnsatisfiableRange) return new LibraryRefusal(416, thrown.message, thrown.headers);
  if (thrown instanceof NoSuchBlob) return new LibraryRefusal(404, "the bytes of this file are lost; publish the same file again");
  const error = thrown instanceof HoltError ? thrown : internal(thrown);
  const status = httpStatusOf(error, STATUS_OVERRIDES);
  if (!isServerFault(status)) return new LibraryRefusal(status, error.message, headersOf(error, status));
  reportFault(error.cause ?? error);
  return new LibraryRefusal(500, "internal error");
}

function headersOf({ details }: HoltError, status: number): Record<string, string> {
  // Package managers send their passwords only after this challenge.
  if (status === 401) return { "www-authenticate": 'Basic realm="Holt"' };
  const seconds = details.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}
