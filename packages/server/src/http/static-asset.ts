/** Bytes that do not change while the server runs: sent compressed to who takes that, and not at all to who has them already. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { HttpRequest, HttpResponse } from "./http-exchange.ts";

export interface StaticAsset {
  readonly contentType: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

export function createStaticAsset(contentType: string, body: Buffer): StaticAsset {
  // Weak, as it stands for both encodings (RFC 9110 §8.8.3.3).
  const etag = `W/"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  return { contentType, etag, body, gzipped: gzipSync(body) };
}

/** Caches must ask each time, as a new version of the server has other bytes under the same name; the answer is then a short 304. */
export function sendAsset(
  request: HttpRequest,
  response: HttpResponse,
  asset: StaticAsset,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const isKnown = request.headers["if-none-match"]?.includes(asset.etag) ?? false;
  const isGzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const body = isGzip ? asset.gzipped : asset.body;
  response.statusCode = isKnown ? 304 : 200;
  const common = {
    etag: asset.etag,
    "cache-control": "no-cache",
    vary: "accept-encoding",
    "x-content-type-options": "nosniff",
    ...headers,
  };
  for (const [name, value] of Object.entries(common)) response.setHeader(name, value);
  if (isKnown) return void response.end();
  response.setHeader("content-type", asset.contentType);
  response.setHeader("content-length", body.length);
  if (isGzip) response.setHeader("content-encoding", "gzip");
  // Over HTTP/2, node does not leave out by itself what must not be sent (RFC 9110 §9.3.2).
  if (request.method === "HEAD") response.end();
  else response.end(body);
}
