/** Reading what a client sends, as far as a call may hold it. Nothing is read before this is called: node stops taking from a client whose body nobody wants. */
import type { Http2ServerRequest, ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Code, HoltError, invalidArgument } from "../lib/errors.ts";
import type { HttpRequest } from "./http-exchange.ts";
import { type Allowance, MessageTooLargeError } from "./request-memory.ts";

const EMPTY = Buffer.alloc(0);

/**
 * @param overhead how many bytes beside the message the body may have
 * @throws MessageTooLargeError, also where only the announced length is too large; HoltError CANCELLED, where the client leaves in the middle
 */
export function readBody(request: HttpRequest | ServerHttp2Stream, allowance: Allowance, overhead = 0): Promise<Buffer> | Buffer {
  const limit = allowance.messageBytes + overhead;
  if ("headers" in request) {
    if (hasNoBody(request)) return EMPTY;
    if (Number(request.headers["content-length"]) > limit) throw new MessageTooLargeError(allowance.messageBytes);
  }
  // No event would tell of what has happened already: the end of an HTTP/2 stream without data is emitted whether or not anybody reads.
  if (carrierOf(request).destroyed) throw clientLeft();
  if (request.readableEnded) return EMPTY;
  return collect(request, allowance, limit, clientLeft);
}

function hasNoBody(request: HttpRequest): boolean {
  if ("stream" in request) return request.stream.endAfterHeaders;
  // RFC 9112 §6.3: a request that announces neither has none.
  return request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined;
}

/** What has the state that a request of HTTP/2 has not. */
function carrierOf(source: Readable): Readable {
  return "stream" in source ? (source as Http2ServerRequest).stream : source;
}

function clientLeft(): HoltError {
  return new HoltError(Code.CANCELLED, "the client left before its request was complete");
}

/** The limits hold for what comes out, as it comes out, so a small message cannot become a large one in memory. */
export async function inflate(bytes: Uint8Array, allowance: Allowance): Promise<Buffer> {
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  try {
    gunzip.end(bytes);
    return await collect(gunzip, allowance, allowance.messageBytes, () => invalidArgument("", "the message is not gzip"));
  } finally {
    gunzip.destroy();
  }
}

/** @param broken for a source that breaks off */
function collect(source: Readable, allowance: Allowance, limit: number, broken: () => HoltError): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | undefined = [];
    let length = 0;
    source.on("data", (chunk: Buffer) => {
      // What comes after a refusal is read and dropped, so that the client gets to read the answer.
      if (chunks === undefined) return;
      length += chunk.length;
      try {
        if (length > limit) throw new MessageTooLargeError(allowance.messageBytes);
        allowance.take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        chunks = undefined;
        reject(error);
      }
    });
    source.once("end", () => {
      // An HTTP/2 stream that is reset ends like one that is complete, except that it is closed by then.
      if (carrierOf(source).closed) reject(broken());
      else resolve(chunks?.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks ?? []));
    });
    const leave = (): void => {
      if (!source.readableEnded) reject(broken());
    };
    source.once("error", leave);
    source.once("close", leave);
  });
}
