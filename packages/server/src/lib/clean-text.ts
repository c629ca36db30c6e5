/** Which strings of clients can be stored, and which can be parts of identifiers and log lines. Pure. */

/** PostgreSQL stores neither NUL nor lone surrogates. */
export function isStorableText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Control characters and lone surrogates would make two different names look alike. */
export function isCleanText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text);
}
