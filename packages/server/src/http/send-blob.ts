/** Content that never changes under its name, as an answer: whole, in part, or not again (RFC 9110 §13 and §14). */
import type { BlobStore, ByteRange } from "../blobs/store.ts";
import { allowLongBody } from "./body-time.ts";
import { answerEmpty, begin, type Headers, type HttpRequest, type HttpResponse } from "./http-exchange.ts";

export interface BlobExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
}

export interface SentBlob {
  readonly digest: string;
  /** As the database knows it: the file may be longer (`blobs/filesystem.ts`). */
  readonly size: number;
  /** Without its quotes. */
  readonly etag: string;
  readonly headers: Headers;
}

export interface SendOptions {
  readonly blobs: Pick<BlobStore, "send">;
  /** How long the transfer may pause. */
  readonly transferIdleMs: number;
  /** Called when bytes are about to be sent. */
  readonly onBegin?: () => void;
}

/** The client wants bytes that there are not. Each protocol says so in its own words. */
export class UnsatisfiableRange extends Error {
  override readonly name = "UnsatisfiableRange";
  readonly headers: Readonly<Record<string, string>>;
  constructor(size: number) {
    super(`there are ${size} bytes`);
    this.headers = { "content-range": `bytes */${size}` };
  }
}

/** @throws UnsatisfiableRange, or what the blobs throw, before anything is answered */
export async function sendBlob(
  { request, response, method }: BlobExchange,
  { digest, size, etag, headers: given }: SentBlob,
  { blobs, transferIdleMs, onBegin }: SendOptions,
): Promise<void> {
  const headers = { ...given, etag: `"${etag}"`, "accept-ranges": "bytes" };
  if (isKnown(request, etag)) return answerEmpty(response, 304, headers);
  const range = method === "GET" ? rangeOf(request, etag, size) : undefined;
  if (range === "unsatisfiable") throw new UnsatisfiableRange(size);
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (method === "HEAD" || size === 0) return answerEmpty(response, 200, { ...headers, "content-length": size });
  await blobs.send(digest, { start, end }, () => {
    const partial = range && { "content-range": `bytes ${start}-${end}/${size}` };
    begin(response, range === undefined ? 200 : 206, { ...headers, ...partial, "content-length": end - start + 1 });
    allowLongBody(request, transferIdleMs);
    onBegin?.();
    return response;
  });
}

/** Whether the client has what the etag, without its quotes, stands for. */
export function isKnown({ headers }: HttpRequest, etag: string): boolean {
  return headers["if-none-match"]?.includes(`"${etag}"`) === true;
}

/** One range of bytes; what is malformed or asks for several is answered with everything, one that ends before it begins is refused, as is allowed. */
function rangeOf({ headers }: HttpRequest, etag: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "");
  const condition = headers["if-range"];
  if (match === null || (condition !== undefined && condition !== `"${etag}"`)) return undefined;
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return undefined;
  if (first === "") return Number(last) === 0 || size === 0 ? "unsatisfiable" : { start: Math.max(size - Number(last), 0), end: size - 1 };
  const start = Number(first);
  const isBackward = last !== "" && Number(last) < start;
  return isBackward || start >= size ? "unsatisfiable" : { start, end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}
