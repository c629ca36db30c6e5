/** Splits names into three-character substrings (trigrams), so that an index can find names by substring. Pure. */

const LENGTH = 3;
/** The index ignores the rest of a longer name. */
const MAX_INDEXED_CHARACTERS = 200;
/** Characters of package names, roughly from the most frequent to the rarest. */
const BY_FREQUENCY = "eainrtos-lcpdmugyhbkfvw.xjzq_0123456789:";

/** Each substring of `length` characters once, in lower case; empty for a shorter name. */
export function gramsOf(name: string, length: number = LENGTH): readonly string[] {
  const text = name.toLowerCase().slice(0, MAX_INDEXED_CHARACTERS);
  return [...new Set(Array.from({ length: Math.max(text.length - length + 1, 0) }, (_, start) => text.slice(start, start + length)))];
}

/** The trigram of a search text that probably occurs in the fewest names. Deterministic; undefined for short texts. */
export function rarestGramOf(text: string): string | undefined {
  return gramsOf(text).toSorted((a, b) => rarityOf(b) - rarityOf(a))[0];
}

function rarityOf(gram: string): number {
  let sum = 0;
  for (const character of gram) {
    const index = BY_FREQUENCY.indexOf(character);
    sum += index < 0 ? BY_FREQUENCY.length : index;
  }
  return sum;
}
