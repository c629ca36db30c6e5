/** Compares RPM versions: epoch, version and release, each by `rpmvercmp`. Pure. */
import { compareNumerals, compareTexts } from "./numeral.ts";

/** A missing release sorts before every other release. */
const VERSION = /^(?:(?<epoch>\d+):)?(?<version>[^-:\s]+)(?:-(?<release>[^-:\s]+))?$/;

/** Undefined if either version is invalid. */
export function compareRpmVersions(a: string, b: string): number | undefined {
  const left = VERSION.exec(a)?.groups;
  const right = VERSION.exec(b)?.groups;
  if (left === undefined || right === undefined) return undefined;
  return (
    compareNumerals(left.epoch ?? "", right.epoch ?? "") ||
    compareSegments(left.version ?? "", right.version ?? "") ||
    compareSegments(left.release ?? "", right.release ?? "")
  );
}

/** Segments sort as `~`, end of text, `^`, letters, digits. All other characters only separate segments. */
function compareSegments(a: string, b: string): number {
  const left = segmentsOf(a);
  const right = segmentsOf(b);
  for (let index = 0; index <= Math.min(left.length, right.length); index++) {
    const one = left[index] ?? "";
    const other = right[index] ?? "";
    const kind = kindOf(one);
    const order = kind - kindOf(other) || (kind === DIGITS ? compareNumerals(one, other) : compareTexts(one, other));
    if (order !== 0) return order;
  }
  return 0;
}

function segmentsOf(text: string): readonly string[] {
  return text.match(/\d+|[A-Za-z]+|[~^]/g) ?? [];
}

const DIGITS = 4;

function kindOf(segment: string): number {
  if (segment === "") return 1;
  if (segment === "~") return 0;
  if (segment === "^") return 2;
  return /^\d/.test(segment) ? DIGITS : 3;
}
