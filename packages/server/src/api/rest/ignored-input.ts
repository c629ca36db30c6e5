/** Tells a client in a Warning header which parts of its request the server ignored. */

/** Names in one header. */
export const MAX_IGNORED = 5;

/**
 * The value of a Warning header with code 299, one per ignored part (RFC 7234 §5.5).
 * @param ignored phrases such as `unknown query parameter nmae; did you mean "name"?`
 */
export function warningHeader(ignored: readonly string[]): string {
  return ignored.map((phrase) => `299 - "${headerText(phrase)}"`).join(", ");
}

/** Keeps a name from the client short and printable. */
export function shownName(name: string): string {
  return name.slice(0, 64).replace(/[^!-~]/g, "?");
}

/** Escapes a quoted-string (RFC 9110 §5.6.4). */
function headerText(phrase: string): string {
  return phrase.replace(/["\\]/g, "\\$&");
}
