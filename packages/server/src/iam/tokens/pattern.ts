/** Patterns that users write to match claims: RE2 syntax, run in linear time by an engine without backtracking. Knows nothing of claims. */
import { RE2JS } from "re2js";
import { invalidArgument } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import { patternSize } from "./pattern-size.ts";

const MAX_LENGTH = 256;
/** Instructions. Time is linear in the text, but also in these, and `{1000}` makes a thousand of one. */
const MAX_PROGRAM = 300;
/** Of the estimate, which may be too high several times over. So many are compiled in less than a millisecond. */
const MAX_ESTIMATE = 1000;
const MAX_UNICODE_CLASSES = 4;
/** Of the text to match; nothing that identifies anybody is longer. */
const MAX_VALUE_LENGTH = 512;
/** Instructions times characters that one token may cost: a list of values can be as long as a token, and an identity may have many patterns. */
const MAX_WORK = 2_000_000;

/** Undefined for what is not a pattern, so that it is not compiled again and again either. */
const compiled = new Lru<string, { readonly regex: RE2JS | undefined }>(1000);

/** @throws INVALID_ARGUMENT on `field`, where the text is no pattern that Holt accepts */
export function parsePattern(field: string, text: string): RE2JS {
  const regex = compile(text);
  if (regex === undefined)
    throw invalidArgument(
      field,
      `must be a regular expression in RE2 syntax, of at most ${MAX_LENGTH} characters, ${MAX_PROGRAM} instructions and ${MAX_UNICODE_CLASSES} Unicode classes`,
    );
  return regex;
}

/** Whether the whole of `value` matches. A pattern that is none matches nothing. */
export type MatchesPattern = (pattern: string, value: string) => boolean;

/** Instructions times characters that matches may still cost. */
export interface MatchingWork {
  left: number;
}

export function createWork(left = MAX_WORK): MatchingWork {
  return { left };
}

/** For one token: once its matches have cost more than all of them may, nothing matches any more. */
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
    known = { regex: isModest(text) ? compileAnew(text) : undefined };
    if (text.length <= MAX_LENGTH) compiled.set(text, known);
  }
  return known.regex;
}

/** The compiler itself would notice too late: it is what costs. */
function isModest(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  const { instructions, unicodeClasses, foldsWideRange } = patternSize(text);
  return instructions <= MAX_ESTIMATE && unicodeClasses <= MAX_UNICODE_CLASSES && !foldsWideRange;
}

function compileAnew(text: string): RE2JS | undefined {
  try {
    const regex = RE2JS.compile(text);
    return regex.programSize() <= MAX_PROGRAM ? regex : undefined;
  } catch {
    return undefined;
  }
}
