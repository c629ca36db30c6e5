/** Values of parsed YAML, in which numbers are strings. */
export type Fields = Readonly<Record<string, unknown>>;

/** The empty string for everything that is neither a string nor a boolean. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : typeof value === "boolean" ? String(value) : "";
}
