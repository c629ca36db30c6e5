/**
 * The suffixes of search terms. A range of their index finds an advisory by any substring of its names and aliases.
 * Pure.
 */

/** Characters that are stored of a suffix. Only this much of a longer search string is found by index. */
export const MAX_SUFFIX = 32;
/** Sorts after every other character in the byte order of both stores. */
const LAST = "\u{10ffff}";

export interface SuffixRange {
  readonly lower: string;
  readonly upper: string;
  /** Whether each suffix in the range belongs to a term that contains the string; otherwise compare the terms. */
  readonly isExact: boolean;
}

/** The range of the suffixes of all terms that contain this string. @param text in lower case */
export function suffixRangeOf(text: string): SuffixRange {
  const lower = [...text].slice(0, MAX_SUFFIX).join("");
  return { lower, upper: lower + LAST, isExact: lower === text };
}
