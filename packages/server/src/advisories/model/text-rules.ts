/** Checks strings of advisories that are stored in indexed columns: they must be short and a single line. Pure. */
import type { FieldViolation } from "../../lib/errors.ts";

/** Characters of a note. */
export const MAX_NOTE_LENGTH = 16 * 1024;

/** Control characters, which no name contains. */
const UNPRINTABLE = /\p{Cc}/u;

/** @param maxBytes in UTF-8 */
export function lineViolations(field: string, text: string, maxBytes: number): FieldViolation[] {
  if (Buffer.byteLength(text) > maxBytes) return [{ field, description: `must be at most ${maxBytes} bytes` }];
  if (UNPRINTABLE.test(text) || !text.isWellFormed())
    return [{ field, description: "must not contain control characters or invalid Unicode" }];
  return [];
}

export function requiredViolations(field: string, text: string): FieldViolation[] {
  return text === "" ? [{ field, description: `${field} is required` }] : [];
}
