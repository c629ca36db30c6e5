/** Errors of libraries on the wire, and the only place that writes them: one sentence, where package managers show it. */
import { NoSuchBlob } from "../../blobs/store.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { UnsatisfiableRange } from "../../http/send-blob.ts";
import { Code, HoltError, internal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

/** Where HTTP has a status of its own for what is wrong. */
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

const STATUS: ReadonlyMap<number, number> = new Map([
  // Nobody reads it any more.
  [Code.CANCELLED, 400],
  [Code.UNAUTHENTICATED, 401],
  [Code.PERMISSION_DENIED, 403],
  // Terms that are not accepted.
  [Code.FAILED_PRECONDITION, 403],
  [Code.NOT_FOUND, 404],
  [Code.INVALID_ARGUMENT, 400],
  // Of which uploaders know that the file is there already.
  [Code.ALREADY_EXISTS, 409],
  [Code.RESOURCE_EXHAUSTED, 429],
  [Code.UNAVAILABLE, 503],
  [Code.ABORTED, 503],
]);

/** What nobody foresaw is logged, and leaves without its text. */
export function sendLibraryError(response: HttpResponse, thrown: unknown, log: Log): void {
  const { status, message, headers } = refusalFrom(thrown, log);
  // HTTP/1.1 has a place for words that twine and pip show; HTTP/2 has none.
  if (!("stream" in response)) response.statusMessage = message.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_REASON);
  send(response, status, "text/plain; charset=utf-8", `${message}\n`, { ...headers, "cache-control": "no-store" });
}

const MAX_REASON = 300;

function refusalFrom(thrown: unknown, log: Log): LibraryRefusal {
  if (thrown instanceof LibraryRefusal) return thrown;
  if (thrown instanceof UnsatisfiableRange) return new LibraryRefusal(416, thrown.message, thrown.headers);
  if (thrown instanceof NoSuchBlob) return refusalFrom(internal(thrown), log);
  const error = thrown instanceof HoltError ? thrown : internal(thrown);
  const status = STATUS.get(error.code) ?? 500;
  if (status === 500) log.error({ err: error.cause ?? error }, "a library could not serve a request");
  return new LibraryRefusal(status, status === 500 ? "internal error" : error.message, headersOf(error, status));
}

/** Package managers offer their passwords only where they are asked for them like this. */
function headersOf({ details }: HoltError, status: number): Record<string, string> {
  if (status === 401) return { "www-authenticate": 'Basic realm="Holt"' };
  const seconds = details.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}
