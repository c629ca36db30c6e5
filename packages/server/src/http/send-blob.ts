/** Sends immutable content: completely, in part, or as 304 (RFC 9110 §13 and §14). */
import { type BlobStore, type ByteRange, NoSuchBlob } from "../blobs/store.ts";
import { allowLongBody } from "./body-time.ts";
import { isKnown } from "./conditional-request.ts";
import { answerEmpty, begin, type Headers, type HttpRequest, type HttpResponse } from "./http-exchange.ts";
import type { ProtocolExchange } from "./protocol-frame.ts";

export interface BlobExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  /** `ProtocolExchange.transfer` (`protocol-frame.ts`). */
  readonly transfer: ProtocolExchange["transfer"];
}

export interface SentBlob {
  readonly digest: string;
  /** The size in the database. The file may be longer (`blobs/filesystem-uploads.ts`). */
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
  readonly headers: Headers;
}

export interface SendOptions {
  readonly blobs: Pick<BlobStore, "send" | "hasLost" | "urlOf">;
  /** The longest pause of the transfer. */
  readonly transferIdleMs: number;
  /** Called before the first byte is sent. */
  readonly onBegin?: () => void;
}

/** The client asked for a range beyond the content. Each protocol answers it in its own form. */
export class UnsatisfiableRange extends Error {
  override readonly name = "UnsatisfiableRange";
  readonly headers: Readonly<Record<string, string>>;
  constructor(size: number) {
    super(`the content has ${size} bytes`);
    this.headers = { "content-range": `bytes */${size}` };
  }
}

/** @throws UnsatisfiableRange or the errors of the blob store, before any header is sent */
export async function sendBlob(
  { request, response, method, transfer }: BlobExchange,
  { digest, size, etag, headers: given }: SentBlob,
  { blobs, transferIdleMs, onBegin }: SendOptions,
): Promise<void> {
  const headers = { ...given, etag: `"${etag}"`, "accept-ranges": "bytes" };
  // Clients skip the upload of content that HEAD finds, so it must not find lost content.
  if (method === "HEAD" && (await blobs.hasLost(digest, size))) throw new NoSuchBlob(digest);
  if (isKnown(request, { etags: [headers.etag] })) return answerEmpty(response, 304, headers);
  const range = method === "GET" ? rangeOf(request, etag, size) : undefined;
  if (range === "unsatisfiable") throw new UnsatisfiableRange(size);
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (method === "HEAD" || size === 0) return answerEmpty(response, 200, { ...headers, "content-length": size });
  const url = await blobs.urlOf?.(digest, headers);
  if (url !== undefined) {
    onBegin?.();
    // The client repeats its range there. The URL expires, so nobody may keep it.
    return answerEmpty(response, 307, { location: url, "cache-control": "no-store", "content-length": 0 });
  }
  const beginResponse = () => {
    const partial = range && { "content-range": `bytes ${start}-${end}/${size}` };
    begin(response, range === undefined ? 200 : 206, { ...headers, ...partial, "content-length": end - start + 1 });
    allowLongBody(request, transferIdleMs);
    onBegin?.();
    return response;
  };
  await transfer(() => blobs.send(digest, { start, end }, beginResponse));
}

/** Parses a single range. A malformed header or several ranges select the whole content. A range that ends before it begins is refused. */
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
