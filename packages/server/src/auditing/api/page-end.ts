/** The end of a page of entries, and its page token. */
import type { PageTokens } from "../../api/resource/page-token.ts";

/** An entry of the chain, or a block if a search went on to blocks that have no entry of the page. */
export type PageEnd = { readonly number: number } | { readonly block: number };

export function sealPageEnd(end: PageEnd, binding: string, now: Date, tokens: PageTokens): string {
  const [key, uid] = "number" in end ? [String(end.number), ""] : ["", String(end.block)];
  return tokens.seal({ key, uid, skipped: 0 }, binding, now);
}

/** @param token empty for the first page @returns undefined for the first page @throws INVALID_ARGUMENT on page_token */
export function openPageEnd(token: string, binding: string, now: Date, tokens: PageTokens): PageEnd | undefined {
  const position = token === "" ? undefined : tokens.open(token, binding, now);
  return position && (position.key === "" ? { block: Number(position.uid) } : { number: Number(position.key) });
}
