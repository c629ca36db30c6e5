/** Types and helpers for one request and its response, over HTTP/1.1 or HTTP/2. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Answer } from "./answer.ts";

export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = (ServerResponse | Http2ServerResponse) & {
  /** Counts the unread bytes of the response. Undefined where a test serves without the listener. */
  answer?: Answer | undefined;
};
export type RequestHandler = (request: HttpRequest, response: HttpResponse) => void;
export type Headers = Readonly<Record<string, string | number>>;

/** On every response, errors included: a browser must not take content for a type that it was not sent as. */
export const COMMON_HEADERS = { "x-content-type-options": "nosniff" } as const;

/** Call it before the head of a response is written. */
export function setCommonHeaders(response: HttpResponse): void {
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value);
}

/** A complete body with its content type. */
export interface Body {
  readonly type: string;
  readonly text: string;
}

/** The address of the client that sent the request, which a trusted proxy may have forwarded. Empty if the client has left already. */
export function remoteAddressOf({ socket }: HttpRequest, { answer }: HttpResponse): string {
  return answer?.client.address ?? socket?.remoteAddress ?? "";
}

/** Sends a response with a complete body. Does nothing if a response was started already. */
export function send(response: HttpResponse, status: number, body: Body, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("content-type", body.type);
  response.setHeader("content-length", String(Buffer.byteLength(body.text)));
  // A response to HEAD has no body (RFC 9110 §9.3.2). Over HTTP/2, node does not omit it.
  if (response.req.method === "HEAD") response.end();
  else response.end(body.text);
}

/** Sets status and headers of a response whose body the caller sends afterwards. */
export function begin(response: HttpResponse, status: number, headers: Headers): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Sends a response without a body. */
export function answerEmpty(response: HttpResponse, status: number, headers: Headers = {}): void {
  begin(response, status, { ...(status !== 204 && status !== 304 && { "content-length": 0 }), ...headers });
  response.end();
}

/** Whether the client of a closed response left before its end. Over HTTP/2, node itself ends the stream of such a client. */
export function wasCutOff(response: HttpResponse): boolean {
  return "stream" in response ? response.stream.aborted : !response.writableFinished;
}

/** Whether the whole request has arrived. Over HTTP/2, node also calls an aborted request complete. */
export function isWhole(request: HttpRequest): boolean {
  return request.complete && !request.aborted;
}
