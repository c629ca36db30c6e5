/** Compares RPM versions: epoch, version and release, each by `rpmvercmp`. Pure. */
import { compareNumerals, compareTexts } from "./numeral.ts";
import type { VersionOrder } from "./order.ts";

/** A missing release sorts before every other release. */
const VERSION = /^(?:(?<epoch>\d+):)?(?<version>[^-:\s]+)(?:-(?<release>[^-:\s]+))?$/;

interface RpmVersion {
  readonly epoch: string;
  readonly version: readonly string[];
  readonly release: readonly string[];
}

export const rpmOrder: VersionOrder<RpmVersion> = {
  parse(text) {
    const groups = VERSION.exec(text)?.groups;
    if (groups === undefined) return undefined;
    return { epoch: groups.epoch ?? "", version: segmentsOf(groups.version ?? ""), release: segmentsOf(groups.release ?? "") };
  },
  compare: (a, b) => compareNumerals(a.epoch, b.epoch) || compareSegments(a.version, b.version) || compareSegments(a.release, b.release),
};

/** Segments sort as `~`, end of text, `^`, letters, digits. All other characters only separate segments. */
function compareSegments(left: readonly string[], right: readonly string[]): number {
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
