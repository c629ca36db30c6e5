/** One request and its response, whichever version of HTTP carries them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;
export type RequestHandler = (request: HttpRequest, response: HttpResponse) => void;

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
