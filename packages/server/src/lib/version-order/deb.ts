/** Compares dpkg versions: epoch, upstream version, revision (Debian policy 5.6.12). Pure. */
import { compareNumerals } from "./numeral.ts";
import type { VersionOrder } from "./order.ts";

const VERSION = /^(?:(?<epoch>\d+):|(?![^:]*:))(?<upstream>[A-Za-z0-9.+~:-]*?[A-Za-z0-9.+~:])(?:-(?<revision>[A-Za-z0-9.+~]+))?$/;

interface DebVersion {
  readonly epoch: string;
  readonly upstream: readonly string[];
  readonly revision: readonly string[];
}

export const debOrder: VersionOrder<DebVersion> = {
  parse(text) {
    const groups = VERSION.exec(text)?.groups;
    if (groups === undefined) return undefined;
    return { epoch: groups.epoch ?? "", upstream: partsOf(groups.upstream ?? ""), revision: partsOf(groups.revision ?? "") };
  },
  compare: (a, b) => compareNumerals(a.epoch, b.epoch) || compareParts(a.upstream, b.upstream) || compareParts(a.revision, b.revision),
};

/** Non-digit and digit parts alternate; the first difference decides. */
function compareParts(left: readonly string[], right: readonly string[]): number {
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
  let index = 0;
  while (index < a.length && a[index] === b[index]) index++;
  return rankOf(a[index]) - rankOf(b[index]);
}

/** `~` sorts before the end of the text, and letters sort before all other characters. */
function rankOf(character: string | undefined): number {
  if (character === undefined) return 0;
  if (character === "~") return -1;
  return /[A-Za-z]/.test(character) ? character.charCodeAt(0) : character.charCodeAt(0) + 256;
}
