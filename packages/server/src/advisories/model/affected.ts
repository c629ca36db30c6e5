/** The affected versions of a package as OSV records list them, and whether a version is among them. Pure. */
import { type CompareVersions, createComparison, hasVersionOrder } from "../../lib/version-order/compare.ts";

/** Events of one range: [kind, version]. The version "0" of `introduced` is before all others. */
export type RangeEvent = readonly [kind: "introduced" | "fixed" | "last_affected", version: string];

/** One element of `affected[]` of an OSV record. */
export interface Affected {
  /** Such as `Alpine:v3.22`; empty if the record names a package URL only. */
  readonly ecosystem: string;
  readonly ranges: readonly { readonly isSemver: boolean; readonly events: readonly RangeEvent[] }[];
  /** Listed versions that no range contains. */
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

/** The listed versions that no range contains. A version is affected if a range contains it, or if it is listed. */
export function versionsOutside(type: string, ranges: Affected["ranges"], versions: readonly string[]): readonly string[] {
  const all = compileRanges(comparisonsFor(type), ranges);
  return versions.filter((version) => all.every((fixIn) => fixIn(version) === undefined));
}

/** The versions that fix what affects this version, or undefined if the version is not affected. */
export function fixesFor(type: string, version: string, { ranges, versions }: Affected): readonly string[] | undefined {
  const hits = rangesFor(type, ranges)
    .map((fixIn) => fixIn(version))
    .filter((fix) => fix !== undefined);
  if (hits.length > 0) return [...new Set(hits.filter((fix) => fix !== ""))];
  return versions.includes(version) ? [] : undefined;
}

/** The next fixed version, the empty string if there is none, or undefined if the version is not in the range. */
type FixIn = (version: string) => string | undefined;

/** An advisory is compared with all versions of a package, and sorting its events is most of the work. */
const compiled = new WeakMap<Affected["ranges"], { readonly type: string; readonly ranges: readonly FixIn[] }>();

/** With fewer events, `fixesFor` takes little time. */
const MANY_EVENTS = 50;

/** Prepares `fixesFor` in parts, so that callers can let others run: reading hundreds of long versions takes a tenth of a second. */
export function* prepareFixes(type: string, { ranges }: Affected): Generator<undefined> {
  if (compiled.get(ranges)?.type === type || ranges.every(({ events }) => events.length < MANY_EVENTS)) return;
  const compareFor = comparisonsFor(type);
  for (const range of ranges) {
    const compare = compareFor(range);
    for (const [, version] of range.events) {
      // A comparison reads each version once.
      compare(version, version);
      yield;
    }
  }
  compiled.set(ranges, { type, ranges: compileRanges(compareFor, ranges) });
}

function rangesFor(type: string, ranges: Affected["ranges"]): readonly FixIn[] {
  const known = compiled.get(ranges);
  if (known?.type === type) return known.ranges;
  const fresh = { type, ranges: compileRanges(comparisonsFor(type), ranges) };
  compiled.set(ranges, fresh);
  return fresh.ranges;
}

type CompareFor = (range: Pick<Affected["ranges"][number], "isSemver">) => CompareVersions;

function comparisonsFor(type: string): CompareFor {
  const compare = createComparison(type);
  const compareSemantic = hasVersionOrder(type) ? compare : createComparison("npm");
  return ({ isSemver }) => (isSemver ? compareSemantic : compare);
}

function compileRanges(compareFor: CompareFor, ranges: Affected["ranges"]): readonly FixIn[] {
  return ranges.map((range) => compileRange(compareFor(range), range.events));
}

function compileRange(compare: CompareVersions, events: readonly RangeEvent[]): FixIn {
  const sorted = sortEvents(compare, events);
  return (version) => {
    const end = sorted && countUntil(compare, sorted, version);
    if (sorted === undefined || end === undefined || !isAffectedAfter(compare, sorted.slice(0, end), version)) return undefined;
    return sorted.slice(end).find(([kind]) => kind === "fixed")?.[1] ?? "";
  };
}

/** The number of events up to this version, by binary search; undefined if the version cannot be compared. */
function countUntil(compare: CompareVersions, sorted: readonly RangeEvent[], version: string): number | undefined {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareEvent(compare, sorted[middle] as RangeEvent, version);
    if (order === undefined) return undefined;
    if (order > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

function compareEvent(compare: CompareVersions, [kind, at]: RangeEvent, version: string): number | undefined {
  return at === "0" && kind === "introduced" ? -1 : compare(at, version);
}

/** The last event decides. The last affected version is affected itself, if the events before it say so. */
function isAffectedAfter(compare: CompareVersions, events: readonly RangeEvent[], version: string): boolean {
  const last = events.findLast((event) => event[0] !== "last_affected" || compareEvent(compare, event, version) !== 0);
  return last?.[0] === "introduced";
}

/** Undefined if the versions cannot be compared. Events of the same version keep their order. */
function sortEvents(compare: CompareVersions, events: readonly RangeEvent[]): readonly RangeEvent[] | undefined {
  let isComparable = true;
  const sorted = events.toSorted(([kind, a], [other, b]) => {
    const first = Number(b === "0" && other === "introduced") - Number(a === "0" && kind === "introduced");
    if (first !== 0) return first;
    const order = compare(a, b);
    isComparable &&= order !== undefined;
    return order ?? 0;
  });
  return isComparable ? sorted : undefined;
}
