/** Compares dpkg versions: epoch, upstream version, revision (Debian policy 5.6.12). Pure. */
import { compareNumerals } from "./numeral.ts";

const VERSION = /^(?:(?<epoch>\d+):|(?![^:]*:))(?<upstream>[A-Za-z0-9.+~:-]*?[A-Za-z0-9.+~:])(?:-(?<revision>[A-Za-z0-9.+~]+))?$/;

/** Undefined if either version is invalid. */
export function compareDebVersions(a: string, b: string): number | undefined {
  const left = VERSION.exec(a)?.groups;
  const right = VERSION.exec(b)?.groups;
  if (left === undefined || right === undefined) return undefined;
  return (
    compareNumerals(left.epoch ?? "", right.epoch ?? "") ||
    compareParts(left.upstream ?? "", right.upstream ?? "") ||
    compareParts(left.revision ?? "", right.revision ?? "")
  );
}

/** Non-digit and digit parts alternate; the first difference decides. */
function compareParts(a: string, b: string): number {
  const left = partsOf(a);
  const right = partsOf(b);
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const one = left[index] ?? "";
    const other = right[index] ?? "";
    const order = index % 2 === 0 ? compareWords(one, other) : compareNumerals(one, other);
    if (order !== 0) return order;
  }
  return 0;
}

/** The first part is always a non-digit part, possibly empty. */
function partsOf(text: string): readonly string[] {
  return [...(/^\d/.test(text) ? [""] : []), ...(text.match(/\d+|\D+/g) ?? [])];
}

function compareWords(a: string, b: string): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const order = rankOf(a[index]) - rankOf(b[index]);
    if (order !== 0) return order;
  }
  return 0;
}

/** `~` sorts before the end of the text, and letters sort before all other characters. */
function rankOf(character: string | undefined): number {
  if (character === undefined) return 0;
  if (character === "~") return -1;
  return /[A-Za-z]/.test(character) ? character.charCodeAt(0) : character.charCodeAt(0) + 256;
}
