/** Reads request bodies within the allowance of a call. Until a body is read, backpressure stops its client from sending more. */
import type { Http2ServerRequest } from "node:http2";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CollectedBytes } from "../lib/collected-bytes.ts";
import { Code, HoltError, invalidArgument } from "../lib/errors.ts";
import type { HttpRequest } from "./http-exchange.ts";
import { type Allowance, MessageTooLargeError } from "./request-memory.ts";

const EMPTY = Buffer.alloc(0);

/**
 * @param overhead how many bytes the body may have in addition to the message
 * @throws MessageTooLargeError, also if only the announced length is too large; HoltError CANCELLED if the client disconnects early
 */
export function readBody(request: HttpRequest, allowance: Allowance, overhead = 0): Promise<Buffer> | Buffer {
  const limit = allowance.messageBytes + overhead;
  if (hasNoBody(request)) return EMPTY;
  if (Number(request.headers["content-length"]) > limit) throw new MessageTooLargeError(allowance.messageBytes);
  // Checks for past events, which are not emitted again: an HTTP/2 stream without data emits 'end' even if nobody reads.
  if (carrierOf(request).destroyed) throw clientLeft();
  if (request.readableEnded) return EMPTY;
  return collect(request, allowance, limit, clientLeft);
}

function hasNoBody(request: HttpRequest): boolean {
  if ("stream" in request) return request.stream.endAfterHeaders;
  // A request with neither header has no body (RFC 9112 §6.3).
  return request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined;
}

/** The stream below an HTTP/2 request, whose state the request itself does not expose. */
function carrierOf(source: Readable): Readable {
  return "stream" in source ? (source as Http2ServerRequest).stream : source;
}

export function clientLeft(): HoltError {
  return new HoltError(Code.CANCELLED, "the client disconnected before its request was complete");
}

/** Applies the limits to the output while it is produced, so that a small message cannot become a large one in memory. */
export async function inflate(bytes: Uint8Array, allowance: Allowance): Promise<Buffer> {
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  try {
    gunzip.end(bytes);
    return await collect(gunzip, allowance, allowance.messageBytes, () => invalidArgument("", "the message is not valid gzip"));
  } finally {
    gunzip.destroy();
  }
}

/** @param broken makes the error for a source that ends early */
function collect(source: Readable, allowance: Allowance, limit: number, broken: () => HoltError): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: CollectedBytes | undefined = new CollectedBytes();
    source.on("data", (chunk: Buffer) => {
      // Discards what arrives after a refusal, so that the client gets to read the response.
      if (body === undefined) return;
      try {
        if (body.length + chunk.length > limit) throw new MessageTooLargeError(allowance.messageBytes);
        allowance.take(chunk.length);
        body.add(chunk);
      } catch (error) {
        body = undefined;
        reject(error);
      }
    });
    source.once("end", () => {
      // A reset HTTP/2 stream also emits 'end', but it is closed by then.
      if (carrierOf(source).closed) reject(broken());
      else resolve(body?.whole() ?? EMPTY);
    });
    const leave = (): void => {
      if (!source.readableEnded) reject(broken());
    };
    source.once("error", leave);
    source.once("close", leave);
  });
}
