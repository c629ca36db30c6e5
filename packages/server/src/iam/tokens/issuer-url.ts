/** What an issuer that Holt asks for keys looks like. Where it may lead is outbound/. Pure. */

export const MAX_ISSUER_LENGTH = 512;

/**
 * OpenID Connect Discovery 1.0 §2: a URL with a host and perhaps a path. With a query or a fragment, what is appended to find the discovery
 * document would not be a path any more, and any URL of any host could be asked for.
 */
export function isIssuerUrl(text: string): boolean {
  if (text.length > MAX_ISSUER_LENGTH || !/^https?:\/\/[^\s?#\\]+$/.test(text)) return false;
  const url = URL.parse(text);
  return url !== null && url.username === "" && url.password === "";
}
