/**
 * Writes JSON string literals, faster than JSON.stringify for strings that need no escapes, which nearly all do not.
 */

/** Matches characters that RFC 8259 §7 does not allow unescaped, and surrogates, since lone ones need an escape. */
const NEEDS_ESCAPES = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

export function quote(text: string): string {
  return NEEDS_ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`;
}
