/** The affected versions of a package as OSV records list them, and whether a version is among them. Pure. */
import { compareVersions, hasVersionOrder } from "../../lib/version-order/compare.ts";

/** Events of one range: [kind, version]. The version "0" of `introduced` is before all others. */
export type RangeEvent = readonly [kind: "introduced" | "fixed" | "last_affected", version: string];

/** One element of `affected[]` of an OSV record. */
export interface Affected {
  /** Such as `Alpine:v3.22`; empty if the record names a package URL only. */
  readonly ecosystem: string;
  readonly ranges: readonly { readonly isSemver: boolean; readonly events: readonly RangeEvent[] }[];
  /** Kept only if the ranges cannot decide. */
  readonly versions: readonly string[];
}

/** The note of the event that an import adds for a range without versions. It holds for that range only. */
export const NEVER_AFFECTED_NOTE = "No version is affected, as the OSV record says.";

export interface AffectedVersions {
  /** When the source last changed the record, in Unix milliseconds. */
  readonly modified: number;
  readonly entries: readonly Affected[];
}

export function encodeAffected(entries: readonly Affected[]): string {
  return JSON.stringify(
    entries.map(({ ecosystem, ranges, versions }) => [ecosystem, ranges.map((r) => [r.isSemver ? 1 : 0, r.events]), versions]),
  );
}

type Encoded = readonly [string, readonly (readonly [number, readonly RangeEvent[]])[], readonly string[]];

export function parseAffected(text: string): readonly Affected[] {
  return (JSON.parse(text) as readonly Encoded[]).map(([ecosystem, ranges, versions]) => ({
    ecosystem,
    ranges: ranges.map(([semver, events]) => ({ isSemver: semver === 1, events })),
    versions,
  }));
}

/** Whether this server can evaluate the ranges, so that a list of versions would only repeat them. */
export function decidesByRanges(type: string, ranges: Affected["ranges"]): boolean {
  return ranges.length > 0 && ranges.every(({ isSemver }) => isSemver || hasVersionOrder(type));
}

/** The versions that fix what affects this version, or undefined if the version is not affected. */
export function fixesFor(type: string, version: string, { ranges, versions }: Affected): readonly string[] | undefined {
  const hits = ranges.flatMap(
    ({ isSemver, events }) => fixInRange(hasVersionOrder(type) ? type : isSemver ? "npm" : "", version, events) ?? [],
  );
  if (hits.length > 0) return [...new Set(hits.filter((fix) => fix !== ""))];
  return versions.includes(version) ? [] : undefined;
}

/** The next fixed version, an array with the empty string if there is none, or undefined if the version is not in the range. */
function fixInRange(type: string, version: string, events: readonly RangeEvent[]): readonly string[] | undefined {
  const sorted = sortEvents(type, events);
  if (sorted === undefined) return undefined;
  let isAffected = false;
  for (const [kind, at] of sorted) {
    const order = at === "0" && kind === "introduced" ? -1 : compareVersions(type, at, version);
    if (order === undefined) return undefined;
    if (order > 0)
      return isAffected ? [sorted.find(([other, fix]) => other === "fixed" && isAfter(type, fix, version))?.[1] ?? ""] : undefined;
    if (kind === "last_affected") isAffected &&= order === 0;
    else isAffected = kind === "introduced";
  }
  return isAffected ? [""] : undefined;
}

function isAfter(type: string, one: string, other: string): boolean {
  return (compareVersions(type, one, other) ?? 0) > 0;
}

/** Undefined if the versions cannot be compared. Events of the same version keep their order. */
function sortEvents(type: string, events: readonly RangeEvent[]): readonly RangeEvent[] | undefined {
  let isComparable = true;
  const sorted = events.toSorted(([kind, a], [other, b]) => {
    const first = Number(b === "0" && other === "introduced") - Number(a === "0" && kind === "introduced");
    if (first !== 0) return first;
    const order = compareVersions(type, a, b);
    isComparable &&= order !== undefined;
    return order ?? 0;
  });
  return isComparable ? sorted : undefined;
}
