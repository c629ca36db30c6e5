/**
 * Checks that an issuer is a URL that Holt can fetch keys from. Which addresses it may lead to is checked in outbound/.
 * Pure.
 */

export const MAX_ISSUER_LENGTH = 512;

/**
 * OpenID Connect Discovery 1.0 §2: a URL with a host and an optional path, without query or fragment. Otherwise the
 * path appended to it would end up in the query or fragment, and the issuer could make Holt request any URL of any
 * host.
 */
export function isIssuerUrl(text: string): boolean {
  if (text.length > MAX_ISSUER_LENGTH || !/^https?:\/\/[^\s\p{Cc}?#\\]+$/u.test(text)) return false;
  const url = URL.parse(text);
  return url !== null && url.username === "" && url.password === "";
}
