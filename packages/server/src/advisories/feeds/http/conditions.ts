/** Whether a client has what it asks for already (RFC 9110 §13), and whether it takes it compressed. Pure. */
import type { HttpRequest } from "../../../http/http-exchange.ts";

export interface Validators {
  /** All that stand for the same content, in whatever encoding; with their quotes. */
  readonly etags: readonly string[];
  /** RFC 3339; undefined for what has no time. */
  readonly lastModified: string | undefined;
}

/** §13.2.2: a date counts only where no entity tag was sent. */
export function isKnown({ headers }: HttpRequest, { etags, lastModified }: Validators): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) return tags.trim() === "*" || tags.split(",").some((tag) => etags.includes(tag.trim().replace(/^W\//, "")));
  const since = Date.parse(headers["if-modified-since"] ?? "");
  return lastModified !== undefined && !Number.isNaN(since) && Math.floor(Date.parse(lastModified) / 1000) * 1000 <= since;
}

/** §12.5.3. */
export function takesGzip({ headers }: HttpRequest): boolean {
  const codings = String(headers["accept-encoding"] ?? "").split(",");
  return codings.some((coding) => /^\s*(?:gzip|x-gzip)\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding));
}
