/** Turns Maven versions into sort keys, whose byte order is the order of Maven's `ComparableVersion`. Pure. */
import { MAX_DIGITS, sortableNumber } from "./sortable-number.ts";

/** A number, a qualifier, or the list after a hyphen or after a change between digits and letters. */
type Item = { readonly number: string } | { readonly qualifier: string } | Item[];

/** Qualifiers that sort before a release, whose own qualifier is empty. */
const PRE_RELEASES = ["alpha", "beta", "milestone", "rc", "snapshot"];
const SHORT: Readonly<Record<string, string>> = { a: "alpha", b: "beta", m: "milestone" };
const ALIASES: Readonly<Record<string, string>> = { ga: "", final: "", release: "", cr: "rc" };

/** Kinds of items, in sort order. */
const KIND = { before: "1", listBefore: "2", end: "5", after: "6", listAfter: "7", number: "8" } as const;

/** @param version at most 255 characters */
export function mavenSortKey(version: string): string {
  // Lists can be nested as deep as the version is long, so no list has a text of its own.
  const parts: string[] = [];
  addKeyOfList(parse(version.toLowerCase()), parts);
  return parts.join("");
}

function parse(text: string): Item[] {
  const whole: Item[] = [];
  const lists = [whole];
  let list = whole;
  const enter = (): void => {
    const inner: Item[] = [];
    list.push(inner);
    lists.push(inner);
    list = inner;
  };
  const add = (token: string, isFollowedByDigit: boolean): void => {
    if (isDigits(token)) return void list.push({ number: token.startsWith("0") ? token.replace(/^0+(?=\d)/, "") : token });
    // A qualifier after a dot compares as one after a hyphen.
    if (list.length > 0) enter();
    list.push({ qualifier: qualifierOf(token, isFollowedByDigit) });
  };
  // Digits, other characters, or a separator.
  const tokens = text.match(/\d+|[^\d.-]+|[.-]/g) ?? [];
  let isAfterToken = false;
  for (const [index, token] of tokens.entries()) {
    if (token === "." || token === "-") {
      // An empty token is 0.
      if (!isAfterToken) list.push({ number: "0" });
      if (token === "-") enter();
      isAfterToken = false;
      continue;
    }
    if (isAfterToken) enter();
    const next = tokens[index + 1];
    add(token, next !== undefined && isDigits(next));
    isAfterToken = true;
  }
  for (const each of lists.reverse()) trim(each);
  return whole;
}

/** A token that begins with a digit has only digits. */
function isDigits(token: string): boolean {
  return token >= "0" && token < ":" && token.length <= MAX_DIGITS;
}

function qualifierOf(token: string, isFollowedByDigit: boolean): string {
  const full = isFollowedByDigit ? (SHORT[token] ?? token) : token;
  return ALIASES[full] ?? full;
}

/** Removes trailing zeros and empty items, also before lists: `1.0-alpha` equals `1-alpha`. */
function trim(list: Item[]): void {
  for (let index = list.length - 1; index >= 0; index--) {
    const item = list[index] as Item;
    if (isNothing(item)) list.splice(index, 1);
    else if (!Array.isArray(item)) return;
  }
}

function isNothing(item: Item): boolean {
  if (Array.isArray(item)) return item.length === 0;
  return "number" in item ? item.number === "0" : item.qualifier === "";
}

function addKeyOfList(list: readonly Item[], parts: string[]): void {
  for (const item of list) {
    if (!Array.isArray(item)) {
      parts.push(keyOf(item));
      continue;
    }
    parts.push(isBefore(item) ? KIND.listBefore : KIND.listAfter);
    addKeyOfList(item, parts);
  }
  parts.push(KIND.end);
}

function keyOf(item: Exclude<Item, Item[]>): string {
  if ("number" in item) return KIND.number + sortableNumber(item.number);
  const index = PRE_RELEASES.indexOf(item.qualifier);
  if (index >= 0) return `${KIND.before}${index}`;
  // trim() keeps an empty qualifier only where a significant item follows.
  if (item.qualifier === "") return KIND.end;
  return KIND.after + (item.qualifier === "sp" ? "0" : `1${item.qualifier}!`);
}

/**
 * Whether a version with this list sorts before the version without it: `1-alpha` is before `1`, but `1-1` is after it.
 */
function isBefore(list: readonly Item[]): boolean {
  const [first] = list;
  if (first === undefined) return false;
  if (Array.isArray(first)) return isBefore(first);
  return "qualifier" in first && PRE_RELEASES.includes(first.qualifier);
}
