/** Writes the answers of REST. */
import { begin, type HttpRequest, type HttpResponse } from "../../http/http-exchange.ts";
import { sendChunks } from "../../http/send-chunks.ts";
import { type CompleteBody, sendComplete } from "../../http/send-complete.ts";
import type { ErrorAnswer } from "./error.ts";

export function sendReply(response: HttpResponse, requestId: string, { text, bytes }: CompleteBody): void {
  const head = ["cache-control", "no-store", "x-request-id", requestId];
  if (text !== "") head.push("content-type", "application/json");
  sendComplete(response, { status: 200, head, text, bytes });
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
  const { status, text, headers } = answer;
  const head = [
    "cache-control",
    "no-store",
    "x-request-id",
    requestId,
    "content-type",
    "application/json",
    ...Object.entries(headers).flat(),
  ];
  // Otherwise the rest of the body must be read before the next request on this connection.
  if (status === 413 && request.httpVersionMajor === 1 && !isWorthReading(request)) head.push("connection", "close");
  sendComplete(response, { status, head, text, bytes: Buffer.byteLength(text) });
}

/** Closing a connection while a client sends discards answers that it has not read yet, so only far too large bodies close it. */
function isWorthReading({ headers }: HttpRequest): boolean {
  return Number(headers["content-length"]) <= MAX_DISCARDED;
}
const MAX_DISCARDED = 4 * 1024 * 1024;
