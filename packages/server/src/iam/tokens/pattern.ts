/**
 * Compiles and matches the patterns that users write for claims: RE2 syntax, matched in linear time without
 * backtracking.
 */
import { RE2JS } from "re2js";
import { type FieldViolation, HoltError, invalidArgument } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import { estimatePatternSize } from "./pattern-size.ts";

const MAX_PATTERN_LENGTH = 256;
/** Matching time is linear in the value and in the instructions, and `{1000}` turns one instruction into a thousand. */
const MAX_INSTRUCTIONS = 300;
/** Limit for the estimate, which may be several times too high. Compiling this many takes less than a millisecond. */
const MAX_ESTIMATED_INSTRUCTIONS = 1000;
const MAX_UNICODE_CLASSES = 4;
/** Longest value that is matched. No identifier is longer. */
const MAX_VALUE_LENGTH = 512;
/**
 * Instructions times characters that matching one token may cost. A list of values can be as long as a token, and an
 * identity can have many patterns.
 */
const MAX_WORK_PER_TOKEN = 2_000_000;

/** Caches undefined for invalid patterns, too. */
const compiled = new Lru<string, { readonly regex: RE2JS | undefined }>(1000);

/** @throws INVALID_ARGUMENT on `field` if `text` is not a pattern or is too big */
export function parsePattern(field: string, text: string): RE2JS {
  const regex = compile(text);
  if (regex === undefined)
    throw invalidArgument(
      field,
      `must be a regular expression in RE2 syntax, of at most ${MAX_PATTERN_LENGTH} characters, ` +
        `${MAX_INSTRUCTIONS} instructions and ${MAX_UNICODE_CLASSES} Unicode classes`,
    );
  return regex;
}

/** None for an empty pattern. */
export function patternViolations(field: string, pattern: string): FieldViolation[] {
  try {
    if (pattern !== "") parsePattern(field, pattern);
    return [];
  } catch (error) {
    if (error instanceof HoltError) return [...(error.details.fieldViolations ?? [])];
    throw error;
  }
}

/** Whether the whole of `value` matches. An invalid pattern matches nothing. */
export type MatchesPattern = (pattern: string, value: string) => boolean;

/** Budget for matching, in instructions times characters. */
export interface MatchingWork {
  left: number;
}

export function createWork(left = MAX_WORK_PER_TOKEN): MatchingWork {
  return { left };
}

/** Creates the matcher for one token. Once the budget is spent, nothing matches any more. */
export function createMatching(work: MatchingWork = createWork()): MatchesPattern {
  return (pattern, value) => {
    const regex = value.length <= MAX_VALUE_LENGTH ? compile(pattern) : undefined;
    if (regex === undefined) return false;
    work.left -= regex.programSize() * (value.length + 1);
    return work.left >= 0 && regex.matches(value);
  };
}

export const matchesPattern: MatchesPattern = (pattern, value) => createMatching()(pattern, value);

function compile(text: string): RE2JS | undefined {
  let known = compiled.get(text);
  if (known === undefined) {
    known = { regex: isSmallEnough(text) ? compileUncached(text) : undefined };
    if (text.length <= MAX_PATTERN_LENGTH) compiled.set(text, known);
  }
  return known.regex;
}

/** Checked before compiling, since compiling a big pattern is itself expensive. */
function isSmallEnough(text: string): boolean {
  if (text.length > MAX_PATTERN_LENGTH) return false;
  const { instructions, unicodeClasses, foldsWideRange } = estimatePatternSize(text);
  return instructions <= MAX_ESTIMATED_INSTRUCTIONS && unicodeClasses <= MAX_UNICODE_CLASSES && !foldsWideRange;
}

function compileUncached(text: string): RE2JS | undefined {
  try {
    const regex = RE2JS.compile(text);
    return regex.programSize() <= MAX_INSTRUCTIONS ? regex : undefined;
  } catch {
    return undefined;
  }
}
