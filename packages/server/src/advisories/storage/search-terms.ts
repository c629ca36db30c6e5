/** The index that finds an advisory by any part of its names and aliases: the ends of each term, from each of its characters on. Pure. */

/** Characters that are kept of an end; what is searched for may be longer, but no more of it than this is found by the index. */
const LENGTH = 32;
/** Above every character, in the byte order of both stores. */
const LAST = "\u{10ffff}";

/** Each once. */
export function suffixesOf(term: string): readonly string[] {
  const characters = [...term];
  return [...new Set(characters.map((_, start) => characters.slice(start, start + LENGTH).join("")))];
}

/** That of the whole term, by which is known whether a term has its suffixes already. */
export function firstSuffixOf(term: string): string {
  return [...term].slice(0, LENGTH).join("");
}

export interface SuffixRange {
  readonly lower: string;
  readonly upper: string;
  /** Set where the suffixes in the range are of all terms that have the text; else the terms must be looked at. */
  readonly isExact: boolean;
}

/** Where the suffixes are of the terms with this text in them. @param text in lower case */
export function suffixRangeOf(text: string): SuffixRange {
  const lower = firstSuffixOf(text);
  return { lower, upper: lower + LAST, isExact: lower === text };
}
