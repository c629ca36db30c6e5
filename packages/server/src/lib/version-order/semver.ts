/** Compares Semantic Versions 2.0.0 (paragraph 11). Accepts the `v` and the omitted zeros of Go modules. Pure. */
import { compareNumerals, compareTexts } from "./numeral.ts";

const NUMBER = "0|[1-9]\\d*";
const IDENTIFIER = `(?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*)`;
const VERSION = new RegExp(
  `^v?(?<major>${NUMBER})(?:\\.(?<minor>${NUMBER})(?:\\.(?<patch>${NUMBER})(?:-(?<pre>${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?)?)?$`,
);

/** Undefined if either version is invalid. Build metadata, after `+`, is ignored. */
export function compareSemanticVersions(a: string, b: string): number | undefined {
  const left = VERSION.exec(a)?.groups;
  const right = VERSION.exec(b)?.groups;
  if (left === undefined || right === undefined) return undefined;
  return (
    compareNumerals(left.major ?? "", right.major ?? "") ||
    compareNumerals(left.minor ?? "", right.minor ?? "") ||
    compareNumerals(left.patch ?? "", right.patch ?? "") ||
    comparePreReleases(left.pre, right.pre)
  );
}

function comparePreReleases(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const left = a.split(".");
  const right = b.split(".");
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
