/** Compares Semantic Versions 2.0.0 (paragraph 11). Accepts the `v` and the omitted zeros of Go modules. Pure. */
import { compareNumerals, compareTexts } from "./numeral.ts";
import type { VersionOrder } from "./order.ts";

const NUMBER = "0|[1-9]\\d*";
const IDENTIFIER = `(?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*)`;
const VERSION = new RegExp(
  `^v?(?<major>${NUMBER})(?:\\.(?<minor>${NUMBER})(?:\\.(?<patch>${NUMBER})(?:-(?<pre>${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?)?)?$`,
);

interface SemanticVersion {
  readonly major: string;
  readonly minor: string;
  readonly patch: string;
  /** Identifiers of the pre-release. */
  readonly pre: readonly string[] | undefined;
}

/** Ignores build metadata, after `+`. */
export const semanticOrder: VersionOrder<SemanticVersion> = {
  parse(text) {
    const groups = VERSION.exec(text)?.groups;
    if (groups === undefined) return undefined;
    return { major: groups.major ?? "", minor: groups.minor ?? "", patch: groups.patch ?? "", pre: groups.pre?.split(".") };
  },
  compare: (a, b) =>
    compareNumerals(a.major, b.major) ||
    compareNumerals(a.minor, b.minor) ||
    compareNumerals(a.patch, b.patch) ||
    comparePreReleases(a.pre, b.pre),
};

function comparePreReleases(left: readonly string[] | undefined, right: readonly string[] | undefined): number {
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  for (const [index, one] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareIdentifiers(one, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareIdentifiers(a: string, b: string): number {
  const isNumber = /^\d+$/.test(a);
  const isOtherNumber = /^\d+$/.test(b);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return isNumber ? compareNumerals(a, b) : compareTexts(a, b);
}
