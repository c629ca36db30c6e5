/** The text of a value in a table or a line of CSV. Pure. */

export function shownText(value: unknown): string {
  return oneLine(textOf(value));
}

/** Control characters of stored names and of a server's messages must not reach the terminal. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, " ");
}

export function textOf(value: unknown): string {
  if (value === undefined || value === null || value === false) return value === false ? "no" : "";
  if (value === true) return "yes";
  if (Array.isArray(value)) return value.every((item) => typeof item !== "object") ? value.join(", ") : JSON.stringify(value);
  if (typeof value === "object") return JSON.stringify(value);
  return /^[A-Z_]+_UNSPECIFIED$/.test(String(value)) ? "" : String(value);
}
