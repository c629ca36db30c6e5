/** Sends answers whose whole body is known. Over HTTP/1.1, head and body of a small one go to the socket in one write. */
import { COMMON_HEADERS, type HttpResponse } from "./http-exchange.ts";
import { MeteredHttp1Response } from "./metered-response.ts";
import { SLICE_BYTES } from "./sliced-output.ts";

/** A body, as text or as UTF-8, and its length as UTF-8. */
export interface CompleteBody {
  readonly text: string | Uint8Array;
  readonly bytes: number;
}

export interface CompleteAnswer extends CompleteBody {
  readonly status: number;
  /** Names and values in turn, without content-length and the common headers. */
  readonly head: readonly string[];
}

const COMMON_HEAD = Object.entries(COMMON_HEADERS).flat();

/** Does nothing if a response was started already. An answer to HEAD has no body (RFC 9110 §9.3.2). */
export function sendComplete(response: HttpResponse, { status, head, text, bytes }: CompleteAnswer): void {
  if (response.headersSent || response.destroyed) return;
  const all = [...COMMON_HEAD, "content-length", String(bytes), ...head];
  const isHead = response.req.method === "HEAD";
  if (response instanceof MeteredHttp1Response && bytes <= SLICE_BYTES && typeof text === "string") {
    response.sendAtOnce(status, all, isHead ? "" : text, isHead ? 0 : bytes);
    return;
  }
  response.statusCode = status;
  for (let index = 0; index < all.length; index += 2) response.setHeader(all[index] as string, all[index + 1] as string);
  response.end(isHead ? "" : text);
}
