/** What texts of advisories may be: those that are columns are indexed, so they are short, and lines. Pure. */
import type { FieldViolation } from "../../lib/errors.ts";

/** For what people write. */
export const MAX_NOTE = 16 * 1024;

/** Control characters: none of them is part of a name. */
const UNPRINTABLE = /\p{Cc}/u;

/** @param maxBytes in UTF-8 */
export function lineViolations(field: string, text: string, maxBytes: number): FieldViolation[] {
  if (Buffer.byteLength(text) > maxBytes) return [{ field, description: `must have at most ${maxBytes} bytes` }];
  if (UNPRINTABLE.test(text) || !text.isWellFormed()) return [{ field, description: "must not have control characters or broken Unicode" }];
  return [];
}

export function required(field: string, text: string): FieldViolation[] {
  return text === "" ? [{ field, description: `${field} is required` }] : [];
}
