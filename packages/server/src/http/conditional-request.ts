/** Evaluates conditional requests (RFC 9110 §13). Pure. */
import type { HttpRequest } from "./http-exchange.ts";

export interface Validators {
  /** The etags of the content in all encodings, with quotes. */
  readonly etags: readonly string[];
  /** RFC 3339; undefined for content without a time. */
  readonly lastModified?: string | undefined;
}

/** Whether the client has the content. The date counts only if it sent no etag (RFC 9110 §13.2.2). */
export function isKnown({ headers }: Pick<HttpRequest, "headers">, { etags, lastModified }: Validators): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) return tags.trim() === "*" || tags.split(",").some((tag) => etags.some((etag) => isSame(tag, etag)));
  if (lastModified === undefined) return false;
  const since = Date.parse(headers["if-modified-since"] ?? "");
  return !Number.isNaN(since) && Math.floor(Date.parse(lastModified) / 1000) * 1000 <= since;
}

/** The weak comparison (RFC 9110 §8.8.3.2). */
function isSame(one: string, other: string): boolean {
  return opaque(one) === opaque(other);
}

function opaque(etag: string): string {
  return etag.trim().replace(/^W\//, "");
}
