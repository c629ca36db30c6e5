/** Splits names into three-character substrings (trigrams), so that an index can find names by substring. Pure. */

const LENGTH = 3;
/** The index ignores the rest of a longer name. */
const MAX_INDEXED_CHARACTERS = 200;

/** Each substring of `length` characters once, in lower case; empty for a shorter name. */
export function gramsOf(name: string, length: number = LENGTH): readonly string[] {
  const text = name.toLowerCase().slice(0, MAX_INDEXED_CHARACTERS);
  return [...new Set(Array.from({ length: Math.max(text.length - length + 1, 0) }, (_, start) => text.slice(start, start + length)))];
}
