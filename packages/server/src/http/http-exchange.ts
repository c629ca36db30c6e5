/** One request and its response, whichever version of HTTP carries them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;
export type RequestHandler = (request: HttpRequest, response: HttpResponse) => void;
export type Headers = Readonly<Record<string, string | number>>;

/** Answers with a whole body. Nothing happens where the answer has begun already. */
export function send(
  response: HttpResponse,
  status: number,
  contentType: string,
  body: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("content-type", contentType);
  response.setHeader("content-length", String(Buffer.byteLength(body)));
  // Over HTTP/2, node does not leave out by itself what must not be sent (RFC 9110 §9.3.2).
  if (response.req.method === "HEAD") response.end();
  else response.end(body);
}

/** The start of an answer, whose body comes after. */
export function begin(response: HttpResponse, status: number, headers: Headers): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Answers without a body. */
export function answerEmpty(response: HttpResponse, status: number, headers: Headers = {}): void {
  begin(response, status, { ...(status !== 204 && status !== 304 && { "content-length": 0 }), ...headers });
  response.end();
}

/** Whether all of the request came. Over HTTP/2, what was broken off has an end like any other, and node calls it complete. */
export function isWhole(request: HttpRequest): boolean {
  return request.complete && !request.aborted;
}
