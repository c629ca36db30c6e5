/** Reads values of parsed JSON whose shape is unknown. */

export type Json = Readonly<Record<string, unknown>>;

/** Whether a value of parsed JSON is an object: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function recordOf(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

/** The objects in a list; none for anything else. */
export function recordsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
