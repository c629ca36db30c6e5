/** REST's answers on the wire. */
import type { HttpRequest, HttpResponse } from "../../http/http-exchange.ts";
import type { ErrorAnswer } from "./error.ts";

export function sendReply(request: HttpRequest, response: HttpResponse, requestId: string, text: string): void {
  const headers: Record<string, string | number> = {
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-request-id": requestId,
  };
  if (text !== "") headers["content-type"] = "application/json";
  sendText(request, response, 200, headers, text);
}

export function sendError(request: HttpRequest, response: HttpResponse, requestId: string, answer: ErrorAnswer): void {
  const headers: Record<string, string | number> = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(answer.text),
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...answer.headers,
  };
  // The rest of the body has to be read before the next request on this connection.
  if (answer.status === 413 && request.httpVersionMajor === 1 && !isWorthReading(request)) headers.connection = "close";
  sendText(request, response, answer.status, headers, answer.text);
}

/** Closing while a client sends takes from it the answers that it has not read yet, so it is for bodies that are far too large. */
function isWorthReading({ headers }: HttpRequest): boolean {
  return Number(headers["content-length"]) <= MAX_DISCARDED;
}
const MAX_DISCARDED = 4 * 1024 * 1024;

function sendText(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  headers: Record<string, string | number>,
  text: string,
): void {
  if (response.headersSent || response.destroyed) return;
  (response.writeHead as (status: number, headers: Record<string, string | number>) => unknown).call(response, status, headers);
  // Over HTTP/2, node does not leave out by itself what must not be sent (RFC 9110 §9.3.2).
  response.end(request.method === "HEAD" ? "" : text);
}
