/** Compares two versions of a package by the rules of its ecosystem. Pure. */
import { compareApkVersions } from "./apk.ts";
import { compareDebVersions } from "./deb.ts";
import { mavenSortKey } from "./maven.ts";
import { compareTexts } from "./numeral.ts";
import { parsePythonVersion } from "./python.ts";
import { compareRpmVersions } from "./rpm.ts";
import { compareSemanticVersions } from "./semver.ts";

/** No ecosystem has longer versions; the limit keeps super-linear comparisons cheap. */
const MAX_LENGTH = 255;

const rules: ReadonlyMap<string, (a: string, b: string) => number | undefined> = new Map([
  ["apk", compareApkVersions],
  ["deb", compareDebVersions],
  ["rpm", compareRpmVersions],
  ["npm", compareSemanticVersions],
  ["golang", compareSemanticVersions],
  ["cargo", compareSemanticVersions],
  ["pypi", comparePythonVersions],
  ["maven", compareMavenVersions],
]);

/**
 * Negative if a comes before b, 0 if they are equal, positive if a comes after b; undefined for an unknown type or an
 * invalid version.
 * @param type the type of a package URL, such as `apk`
 */
export function compareVersions(type: string, a: string, b: string): number | undefined {
  if (isOutOfBounds(a) || isOutOfBounds(b)) return undefined;
  return rules.get(type)?.(a, b);
}

/** Whether a comes before b or is equal. Versions that cannot be compared must have the same text. */
export function isAtMost(type: string, a: string, b: string): boolean {
  return (compareVersions(type, a, b) ?? (a === b ? 0 : 1)) <= 0;
}

/** Whether versions of this type of package URL can be compared. */
export function hasVersionOrder(type: string): boolean {
  return rules.has(type);
}

function isOutOfBounds(version: string): boolean {
  return version === "" || version.length > MAX_LENGTH;
}

function comparePythonVersions(a: string, b: string): number | undefined {
  const left = parsePythonVersion(a);
  const right = parsePythonVersion(b);
  return left === undefined || right === undefined ? undefined : compareTexts(left.sortKey, right.sortKey);
}

function compareMavenVersions(a: string, b: string): number {
  return compareTexts(mavenSortKey(a), mavenSortKey(b));
}
