/** Compares two versions of a package by the rules of its ecosystem. Pure. */
import { apkOrder } from "./apk.ts";
import { debOrder } from "./deb.ts";
import { mavenSortKey } from "./maven.ts";
import { compareTexts } from "./numeral.ts";
import type { VersionOrder } from "./order.ts";
import { parsePythonVersion } from "./python.ts";
import { rpmOrder } from "./rpm.ts";
import { semanticOrder } from "./semver.ts";

/** No ecosystem has longer versions; the limit keeps super-linear comparisons cheap. */
const MAX_LENGTH = 255;

const pythonOrder: VersionOrder<string> = { parse: (text) => parsePythonVersion(text)?.sortKey, compare: compareTexts };
const mavenOrder: VersionOrder<string> = { parse: mavenSortKey, compare: compareTexts };

const orders: ReadonlyMap<string, VersionOrder<unknown>> = new Map<string, VersionOrder<unknown>>([
  ["apk", apkOrder],
  ["deb", debOrder],
  ["rpm", rpmOrder],
  ["npm", semanticOrder],
  ["golang", semanticOrder],
  ["cargo", semanticOrder],
  ["pypi", pythonOrder],
  ["maven", mavenOrder],
]);

/**
 * Negative if a comes before b, 0 if they are equal, positive if a comes after b; undefined for an unknown type or an
 * invalid version.
 */
export type CompareVersions = (a: string, b: string) => number | undefined;

/** @param type the type of a package URL, such as `apk` */
export function compareVersions(type: string, a: string, b: string): number | undefined {
  return compareBy(orders.get(type), parse, a, b);
}

/** Reads each version once, for many comparisons of the same versions: reading one is the larger part of the work. */
export function createComparison(type: string): CompareVersions {
  const known = new Map<string, unknown>();
  const parseOnce = (order: VersionOrder<unknown>, version: string): unknown => {
    if (!known.has(version)) known.set(version, parse(order, version));
    return known.get(version);
  };
  const order = orders.get(type);
  return (a, b) => compareBy(order, parseOnce, a, b);
}

type Parse = (order: VersionOrder<unknown>, version: string) => unknown;

function compareBy(order: VersionOrder<unknown> | undefined, parseVersion: Parse, a: string, b: string): number | undefined {
  if (order === undefined) return undefined;
  const left = parseVersion(order, a);
  const right = left === undefined ? undefined : parseVersion(order, b);
  return right === undefined ? undefined : order.compare(left, right);
}

function parse(order: VersionOrder<unknown>, version: string): unknown {
  return version === "" || version.length > MAX_LENGTH ? undefined : order.parse(version);
}

/** Whether a comes before b or is equal. Versions that cannot be compared must have the same text. */
export function isAtMost(type: string, a: string, b: string): boolean {
  return (compareVersions(type, a, b) ?? (a === b ? 0 : 1)) <= 0;
}

/** Whether versions of this type of package URL can be compared. */
export function hasVersionOrder(type: string): boolean {
  return orders.has(type);
}
