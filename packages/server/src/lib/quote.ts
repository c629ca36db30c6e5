/** JSON string literals: JSON.stringify, faster for the text that needs no escapes, which is nearly all. */

/** Anything but what RFC 8259 §7 lets stand for itself; surrogates too, of which JSON.stringify escapes those that stand alone. */
const NEEDS_CARE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

export function quote(text: string): string {
  return NEEDS_CARE.test(text) ? JSON.stringify(text) : `"${text}"`;
}
