/** Compares apk versions as `apk version` does: digits, a letter, suffixes, a commit and a revision. Pure. */
import { compareNumerals, compareTexts } from "./numeral.ts";
import type { VersionOrder } from "./order.ts";

/**
 * Kinds of parts, in the order in which they may follow each other. At the first difference, the later kind is the
 * smaller version.
 */
const KIND = { first: 0, digits: 1, letter: 2, suffix: 3, suffixNumber: 4, commit: 5, revision: 6, end: 7, invalid: 8 } as const;
type Kind = (typeof KIND)[keyof typeof KIND];

export interface ApkPart {
  readonly kind: Kind;
  readonly text: string;
}

const PRE_RELEASES = ["alpha", "beta", "pre", "rc"];
const SUFFIXES = [...PRE_RELEASES, "cvs", "svn", "git", "hg", "p"];

/** Each kind of part, its pattern (whose group is the part's text) and the kinds that it may follow. */
const RULES: readonly { readonly kind: Kind; readonly pattern: RegExp; readonly after: readonly Kind[] }[] = [
  { kind: KIND.digits, pattern: /\.(\d+)/y, after: [KIND.first, KIND.digits] },
  { kind: KIND.letter, pattern: /([a-z])/y, after: [KIND.first, KIND.digits] },
  { kind: KIND.suffixNumber, pattern: /(\d+)/y, after: [KIND.suffix] },
  {
    kind: KIND.suffix,
    pattern: /_([a-z]+)/y,
    after: [KIND.first, KIND.digits, KIND.letter, KIND.suffix, KIND.suffixNumber],
  },
  {
    kind: KIND.commit,
    pattern: /~([0-9a-f]+)/y,
    after: [KIND.first, KIND.digits, KIND.letter, KIND.suffix, KIND.suffixNumber],
  },
  {
    kind: KIND.revision,
    pattern: /-r(\d+)/y,
    after: [KIND.first, KIND.digits, KIND.letter, KIND.suffix, KIND.suffixNumber, KIND.commit],
  },
];

/** A version begins with a digit. An invalid remainder sorts before the end of a version. */
export const apkOrder: VersionOrder<readonly ApkPart[]> = {
  parse(text) {
    const parts = parseApkVersion(text);
    return parts[0]?.kind === KIND.first ? parts : undefined;
  },
  compare(left, right) {
    for (const [index, a] of left.entries()) {
      const b = right[index];
      if (b === undefined || a.kind !== b.kind) return compareKinds(a, b);
      const order = compareSameKind(a, b);
      if (order !== 0) return order;
    }
    return 0;
  },
};

/** The parts of a version. The last part is `end`, or `invalid` at the first character that fits no rule. */
export function parseApkVersion(text: string): readonly ApkPart[] {
  const parts: ApkPart[] = [];
  const [first] = /^\d+/.exec(text) ?? [];
  if (first === undefined) return [{ kind: KIND.invalid, text: "" }];
  parts.push({ kind: KIND.first, text: first });
  let position = first.length;
  let kind: Kind = KIND.first;
  while (position < text.length) {
    const next = partAt(text, position, kind);
    if (next === undefined) return [...parts, { kind: KIND.invalid, text: "" }];
    parts.push(next.part);
    position = next.end;
    kind = next.part.kind;
  }
  return [...parts, { kind: KIND.end, text: "" }];
}

function partAt(text: string, position: number, after: Kind): { readonly part: ApkPart; readonly end: number } | undefined {
  for (const { kind, pattern, after: allowed } of RULES) {
    pattern.lastIndex = position;
    const part = allowed.includes(after) ? pattern.exec(text)?.[1] : undefined;
    if (part === undefined || (kind === KIND.suffix && !SUFFIXES.includes(part))) continue;
    return { part: { kind, text: part }, end: pattern.lastIndex };
  }
  return undefined;
}

function compareSameKind(a: ApkPart, b: ApkPart): number {
  // As in Gentoo's specification, digits with a leading zero compare as a fraction.
  if (a.kind === KIND.digits && (a.text.startsWith("0") || b.text.startsWith("0"))) return compareTexts(a.text, b.text);
  if (a.kind === KIND.suffix) return SUFFIXES.indexOf(a.text) - SUFFIXES.indexOf(b.text);
  return a.kind === KIND.letter || a.kind === KIND.commit ? compareTexts(a.text, b.text) : compareNumerals(a.text, b.text);
}

/**
 * Compares versions at their first difference: the longer one is greater, unless it continues with a pre-release
 * suffix.
 */
function compareKinds(a: ApkPart, b: ApkPart | undefined): number {
  if (isPreRelease(a)) return -1;
  if (b !== undefined && isPreRelease(b)) return 1;
  return (b?.kind ?? KIND.end) - a.kind;
}

function isPreRelease({ kind, text }: ApkPart): boolean {
  return kind === KIND.suffix && PRE_RELEASES.includes(text);
}
