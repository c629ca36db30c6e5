/** Parses Python versions (PEP 440) and gives them sort keys, whose byte order is the order of `packaging`. Pure. */
import { MAX_DIGITS, sortableNumber } from "./sortable-number.ts";

/** PEP 440, appendix B. The pattern takes linear time on hostile text. */
const VERSION =
  /^v?(?:(?<epoch>\d+)!)?(?<release>\d+(?:\.\d+)*)(?:[-_.]?(?<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?<preNumber>\d+)?)?(?:-(?<implicitPost>\d+)|[-_.]?(?<post>post|rev|r)[-_.]?(?<postNumber>\d+)?)?(?:[-_.]?(?<dev>dev)[-_.]?(?<devNumber>\d+)?)?(?:\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/;
const MAX_LENGTH = 200;

const PRE_RELEASES: Readonly<Record<string, string>> = {
  a: "a",
  alpha: "a",
  b: "b",
  beta: "b",
  c: "rc",
  rc: "rc",
  pre: "rc",
  preview: "rc",
};
const PRE_ORDER: Readonly<Record<string, string>> = { a: "1", b: "2", rc: "3" };

export interface PythonVersion {
  /** The normalized form of PEP 440: `1.0rc1` for `v1.0-preview_1`. */
  readonly normalized: string;
  readonly sortKey: string;
  readonly isPreRelease: boolean;
  /** Segments of the local label, such as `cu121`; empty for none. */
  readonly local: readonly string[];
}

interface Parts {
  readonly epoch: string;
  readonly release: readonly string[];
  readonly pre: readonly [letter: string, digits: string] | undefined;
  readonly post: string | undefined;
  readonly dev: string | undefined;
  readonly local: readonly string[];
}

/** Undefined for an invalid version. */
export function parsePythonVersion(text: string): PythonVersion | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  return {
    normalized: normalizedFrom(parts),
    sortKey: sortKeyFrom(parts),
    isPreRelease: parts.pre !== undefined || parts.dev !== undefined,
    local: parts.local,
  };
}

/** False for an invalid version. */
export function isPythonPreRelease(version: string): boolean {
  return parsePythonVersion(version)?.isPreRelease ?? false;
}

function partsOf(text: string): Parts | undefined {
  const trimmed = text.trim().toLowerCase();
  const groups = trimmed.length > MAX_LENGTH ? undefined : VERSION.exec(trimmed)?.groups;
  if (groups === undefined || /\d{61}/.test(trimmed.replace(/(?<!\d)0+(?=\d)/g, ""))) return undefined;
  const { epoch, release = "", pre, preNumber, implicitPost, post, postNumber, dev, devNumber, local } = groups;
  return {
    epoch: numeral(epoch),
    release: release.split(".").map(numeral),
    pre: pre === undefined ? undefined : [PRE_RELEASES[pre] ?? pre, numeral(preNumber)],
    post: post === undefined && implicitPost === undefined ? undefined : numeral(implicitPost ?? postNumber),
    dev: dev === undefined ? undefined : numeral(devNumber),
    local: local === undefined ? [] : local.split(/[-_.]/).map((segment) => (isNumeral(segment) ? numeral(segment) : segment)),
  };
}

function numeral(digits: string | undefined): string {
  return (digits ?? "0").replace(/^0+(?=\d)/, "");
}

function isNumeral(text: string): boolean {
  return /^\d+$/.test(text);
}

function normalizedFrom({ epoch, release, pre, post, dev, local }: Parts): string {
  return [
    epoch === "0" ? "" : `${epoch}!`,
    release.join("."),
    pre?.join("") ?? "",
    post === undefined ? "" : `.post${post}`,
    dev === undefined ? "" : `.dev${dev}`,
    local.length === 0 ? "" : `+${local.join(".")}`,
  ].join("");
}

/** Each part begins with a digit that sorts an absent part before or after a present one, as PEP 440 demands. */
function sortKeyFrom({ epoch, release, pre, post, dev, local }: Parts): string {
  return [
    sortableNumber(epoch),
    ...withoutTrailingZeros(release).map((number) => `1${sortableNumber(number)}`),
    "0",
    preKey(pre, post, dev),
    post === undefined ? "0" : `1${sortableNumber(post)}`,
    dev === undefined ? "1" : `0${sortableNumber(dev)}`,
    local.length === 0 ? "0" : `1${local.map(localKey).join("")}0`,
  ].join("");
}

function withoutTrailingZeros(release: readonly string[]): readonly string[] {
  return release.slice(0, release.findLastIndex((number) => number !== "0") + 1);
}

/** `1.0.dev1` sorts before `1.0a1`, and `1.0` sorts after all its pre-releases. */
function preKey(pre: Parts["pre"], post: Parts["post"], dev: Parts["dev"]): string {
  if (pre !== undefined) return (PRE_ORDER[pre[0]] ?? "") + sortableNumber(pre[1]);
  return post === undefined && dev !== undefined ? "0" : "4";
}

/** Numbers sort after words. A word ends with `!`, which is smaller than any character of a word. */
function localKey(segment: string): string {
  return isNumeral(segment) && segment.length <= MAX_DIGITS ? `2${sortableNumber(segment)}` : `1${segment}!`;
}
