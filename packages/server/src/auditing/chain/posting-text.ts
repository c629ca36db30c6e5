/**
 * The text of a posting: the indexes of entries in their block in ascending order, separated by commas. `*` stands for all entries, and
 * `-` followed by indexes for all but these, so that a value of most entries has a short text too. Pure.
 */

const ALL = "*";
const ALL_BUT = "-";

/** Fewer indexes than these are looked for in the text, which is faster than parsing it. */
const MAX_SEARCHED_INDEXES = 16;

/** @param count entries of the block */
export function postingText(indexes: readonly number[], count: number): string {
  if (indexes.length === count) return ALL;
  if (indexes.length <= count / 2) return indexes.join(",");
  const named = new Set(indexes);
  return `${ALL_BUT}${range(count)
    .filter((index) => !named.has(index))
    .join(",")}`;
}

/** Indexes outside of the block are ignored. */
export function indexesOfText(text: string, count: number): number[] {
  if (text === ALL) return range(count);
  if (!text.startsWith(ALL_BUT)) return parse(text).filter((index) => index >= 0 && index < count);
  const others = new Set(parse(text.slice(1)));
  return range(count).filter((index) => !others.has(index));
}

/**
 * A test for some of the entries.
 * @param searches number of entries that are tested
 */
export function membershipOfText(text: string, searches: number): (index: number) => boolean {
  if (text === ALL) return () => true;
  const isExcluding = text.startsWith(ALL_BUT);
  const list = isExcluding ? text.slice(1) : text;
  if (searches <= MAX_SEARCHED_INDEXES) {
    const searched = `,${list},`;
    return (index) => searched.includes(`,${index},`) !== isExcluding;
  }
  const indexes = new Set(parse(list));
  return (index) => indexes.has(index) !== isExcluding;
}

/** About how many entries of a block have the value. */
export function estimateEntries(text: string, count: number): number {
  if (text === ALL) return count;
  const named = Math.min(count, text.length / LENGTH_PER_INDEX);
  return text.startsWith(ALL_BUT) ? count - named : named;
}

/** Digits and comma of an index. */
const LENGTH_PER_INDEX = 4;

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function parse(list: string): number[] {
  return list.split(",").map(Number);
}
