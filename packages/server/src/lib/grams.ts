/** Parts of names, three characters long: the index that finds names by any part of them. Pure. */

const LENGTH = 3;
/** Of a name; later parts are not found by the index. */
const MAX_INDEXED = 200;
/** From the most frequent to the rarest in names of packages, about. */
const BY_FREQUENCY = "eainrtos-lcpdmugyhbkfvw.xjzq_0123456789:";

/** Each part once, in lower case; none of a shorter name. @param length of the parts */
export function gramsOf(name: string, length: number = LENGTH): readonly string[] {
  const text = name.toLowerCase().slice(0, MAX_INDEXED);
  return [...new Set(Array.from({ length: Math.max(text.length - length + 1, 0) }, (_, start) => text.slice(start, start + length)))];
}

/** The part of a search text that is likely to be in the fewest names: always the same for the same text. Undefined for a text that is too short. */
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
