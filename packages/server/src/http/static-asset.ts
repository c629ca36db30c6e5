/** Serves bytes that do not change while the server runs: compressed if the client accepts it, and as 304 if the client has them. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { takesCoding } from "./accept-encoding.ts";
import { isKnown } from "./conditional-request.ts";
import type { HttpRequest, HttpResponse } from "./http-exchange.ts";
import { markAsShared } from "./sliced-output.ts";

export interface StaticAsset {
  readonly contentType: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
  /** For browsers that accept Brotli; they do so over TLS and on the same machine. */
  readonly brotli?: Buffer | undefined;
}

/** The body as a build has compressed it, so that the server does not. */
export interface Precompressed {
  readonly gzipped: Buffer;
  readonly brotli: Buffer;
}

export function createStaticAsset(contentType: string, body: Buffer, precompressed?: Precompressed): StaticAsset {
  // Weak, because it identifies both encodings (RFC 9110 §8.8.3.3).
  const etag = `W/"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  const { gzipped = gzipSync(body), brotli } = precompressed ?? {};
  for (const bytes of [body, gzipped, brotli]) if (bytes !== undefined) markAsShared(bytes);
  return { contentType, etag, body, gzipped, brotli };
}

/**
 * Caches must revalidate each time, because a new version of the server may serve other bytes under the same name. `headers` may
 * say otherwise.
 */
export function sendAsset(
  request: HttpRequest,
  response: HttpResponse,
  asset: StaticAsset,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const isUnchanged = isKnown(request, { etags: [asset.etag] });
  const { encoding, body } = encodingOf(request, asset);
  response.statusCode = isUnchanged ? 304 : 200;
  const common = {
    etag: asset.etag,
    "cache-control": "no-cache",
    vary: "accept-encoding",
    ...headers,
  };
  for (const [name, value] of Object.entries(common)) response.setHeader(name, value);
  if (isUnchanged) return void response.end();
  response.setHeader("content-type", asset.contentType);
  response.setHeader("content-length", body.length);
  if (encoding !== undefined) response.setHeader("content-encoding", encoding);
  // A response to HEAD has no body (RFC 9110 §9.3.2). Over HTTP/2, node does not omit it.
  if (request.method === "HEAD") response.end();
  else response.end(body);
}

function encodingOf(request: HttpRequest, { body, gzipped, brotli }: StaticAsset): { encoding?: string; body: Buffer } {
  if (brotli !== undefined && takesCoding(request, "br")) return { encoding: "br", body: brotli };
  return takesCoding(request, "gzip") ? { encoding: "gzip", body: gzipped } : { body };
}
