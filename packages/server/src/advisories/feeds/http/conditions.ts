/** Evaluates conditional requests (RFC 9110 §13). Pure. */
import type { HttpRequest } from "../../../http/http-exchange.ts";

export interface Validators {
  /** The etags of the content in all encodings, with quotes. */
  readonly etags: readonly string[];
  /** RFC 3339; undefined for content without a time. */
  readonly lastModified: string | undefined;
}

/** The date counts only if the client sent no etag (RFC 9110 §13.2.2). */
export function isKnown({ headers }: HttpRequest, { etags, lastModified }: Validators): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) return tags.trim() === "*" || tags.split(",").some((tag) => etags.includes(tag.trim().replace(/^W\//, "")));
  const since = Date.parse(headers["if-modified-since"] ?? "");
  return lastModified !== undefined && !Number.isNaN(since) && Math.floor(Date.parse(lastModified) / 1000) * 1000 <= since;
}
