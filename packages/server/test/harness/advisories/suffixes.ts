/** The suffixes that the database stores of a search term, by code of its own. */
import { MAX_SUFFIX } from "../../../src/advisories/storage/search-terms.ts";

/** The suffixes from each character on, without duplicates. */
export function suffixesOf(term: string): readonly string[] {
  const characters = [...term];
  return [...new Set(characters.map((_, start) => characters.slice(start, start + MAX_SUFFIX).join("")))];
}
