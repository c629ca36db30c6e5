/** Finds the days on which advisories became resolved in an image. Pure. */
import { type DayRange, dayOfTime, startOfDay } from "./days.ts";
import { type History, resolvedTimes } from "./histories.ts";
import type { PackageList, PackageName } from "./package-lists.ts";

/** The packages of one image over time, in the order of days. */
export interface Timeline {
  readonly states: readonly { readonly day: number; readonly packages: PackageList }[];
  /** Uid of the image's organization. */
  readonly root: string;
}

export interface ResolvedDays {
  /** Calls `report` for each history and the day on which it was resolved. @returns the number of comparisons */
  visit(timeline: Timeline, report: (day: number, history: History) => void): number;
}

export interface ResolvedDaysOptions {
  readonly range: DayRange;
  /** Resolutions after this time are ignored. */
  readonly now: string;
  /** By number of the name. */
  readonly histories: readonly (readonly History[])[];
  readonly names: readonly PackageName[];
  /** By number of the version list. */
  readonly versions: readonly (readonly string[])[];
  /** Organizations whose advisories apply to all images. */
  readonly publicRoots: readonly string[] | "all";
}

/** The version list of a name from a day on; undefined while the image does not contain the name. */
interface Segment {
  readonly day: number;
  readonly list: number | undefined;
}

type Days = readonly (number | undefined)[];

export function createResolvedDays({ range, now, histories, names, versions, publicRoots }: ResolvedDaysOptions): ResolvedDays {
  const known = new Map<number, Days>();
  const start = startOfDay(range.first);
  const publicRootSet = publicRoots === "all" ? "all" : new Set(publicRoots);

  /** For each history of a name, the day since whose end it is resolved in these versions. */
  function findDays(name: number, list: number): Days {
    const key = name * versions.length + list;
    const days = known.get(key) ?? resolvedTimes(names[name]?.type ?? "", histories[name] ?? [], versions[list] ?? []).map(dayOf);
    known.set(key, days);
    return days;
  }

  /** Days before the range are not distinguished. */
  function dayOf(time: string | undefined): number | undefined {
    return time === undefined || time > now ? undefined : time < start ? range.first - 1 : dayOfTime(time);
  }

  function appliesTo(history: History, root: string): boolean {
    return publicRootSet === "all" || history.root === root || publicRootSet.has(history.root);
  }

  function reportName(name: number, segments: readonly Segment[], root: string, report: (day: number, history: History) => void): number {
    const ofName = histories[name] ?? [];
    for (const [index, { day, list }] of segments.entries()) {
      if (list === undefined) continue;
      const until = Math.min((segments[index + 1]?.day ?? Number.POSITIVE_INFINITY) - 1, range.last);
      const before = segments[index - 1]?.list;
      const days = findDays(name, list);
      // A new package counts as if it had been there the day before.
      const earlier = before === undefined ? days : findDays(name, before);
      for (const [at, history] of ofName.entries()) {
        const resolved = days[at];
        const was = earlier[at];
        if (resolved === undefined || resolved > until || !appliesTo(history, root)) continue;
        if (resolved > day) report(resolved, history);
        else if (day >= range.first && (was === undefined || was >= day)) report(day, history);
      }
    }
    return ofName.length * segments.length;
  }

  return {
    visit({ states, root }, report) {
      let comparisons = 0;
      for (const [name, segments] of segmentsOf(states, histories)) comparisons += reportName(name, segments, root, report);
      return comparisons;
    },
  };
}

/** A segment for each change of a name's versions. Most packages stay the same when an image is replaced. */
function segmentsOf(states: Timeline["states"], histories: readonly (readonly unknown[])[]): ReadonlyMap<number, Segment[]> {
  const segments = new Map<number, Segment[]>();
  let before: PackageList = new Map();
  for (const { day, packages } of states) {
    for (const [name, list] of packages) {
      if (histories[name]?.length === 0 || before.get(name) === list) continue;
      const ofName = segments.get(name);
      if (ofName === undefined) segments.set(name, [{ day, list }]);
      else ofName.push({ day, list });
    }
    for (const name of before.keys()) if (!packages.has(name)) segments.get(name)?.push({ day, list: undefined });
    before = packages;
  }
  return segments;
}
