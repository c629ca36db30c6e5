/** Writes the answers of REST. */
import { begin, type HttpRequest, type HttpResponse } from "../../http/http-exchange.ts";
import { sendChunks } from "../../http/send-chunks.ts";
import type { ErrorAnswer } from "./error.ts";

export function sendReply(request: HttpRequest, response: HttpResponse, requestId: string, text: string): void {
  const headers: Record<string, string | number> = {
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-request-id": requestId,
  };
  if (text !== "") headers["content-type"] = "application/json";
  sendText(request, response, { status: 200, headers, text });
}

/** Sends the body while it is made. @throws the error of the chunks */
export async function sendStream(
  request: HttpRequest,
  response: HttpResponse,
  requestId: string,
  chunks: AsyncIterable<string>,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  begin(response, 200, { "cache-control": "no-store", "x-request-id": requestId, "content-type": "application/json" });
  if (request.method === "HEAD") response.end();
  else await sendChunks(response, chunks);
}

export function sendError(request: HttpRequest, response: HttpResponse, requestId: string, answer: ErrorAnswer): void {
  const headers: Record<string, string | number> = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(answer.text),
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...answer.headers,
  };
  // Otherwise the rest of the body must be read before the next request on this connection.
  if (answer.status === 413 && request.httpVersionMajor === 1 && !isWorthReading(request)) headers.connection = "close";
  sendText(request, response, { status: answer.status, headers, text: answer.text });
}

/** Closing a connection while a client sends discards answers that it has not read yet, so only far too large bodies close it. */
function isWorthReading({ headers }: HttpRequest): boolean {
  return Number(headers["content-length"]) <= MAX_DISCARDED;
}
const MAX_DISCARDED = 4 * 1024 * 1024;

interface TextAnswer {
  readonly status: number;
  readonly headers: Record<string, string | number>;
  readonly text: string;
}

function sendText(request: HttpRequest, response: HttpResponse, { status, headers, text }: TextAnswer): void {
  if (response.headersSent || response.destroyed) return;
  (response.writeHead as (status: number, headers: Record<string, string | number>) => unknown).call(response, status, headers);
  // Over HTTP/2, node does not drop the body of an answer to HEAD itself (RFC 9110 §9.3.2).
  response.end(request.method === "HEAD" ? "" : text);
}
