/** On which days which advisories became resolved in an image. Pure. */
import { type DayRange, dayOfTime, startOfDay } from "./days.ts";
import { type History, resolvedTimes } from "./histories.ts";
import type { PackageList, PackageName } from "./package-lists.ts";

/** What an image was when, in the order of days. */
export interface Timeline {
  readonly states: readonly { readonly day: number; readonly packages: PackageList }[];
  /** Organization of the image. */
  readonly root: string;
}

export interface ResolvedDays {
  /** Calls `report` for advisories and the day. @returns how many histories were looked at */
  of(timeline: Timeline, report: (day: number, history: History) => void): number;
}

export interface ResolvedDaysOptions {
  readonly range: DayRange;
  /** What is said to happen later has not happened. */
  readonly now: string;
  /** By the number of the name. */
  readonly histories: readonly (readonly History[])[];
  readonly names: readonly PackageName[];
  /** By the number of the list. */
  readonly versions: readonly (readonly string[])[];
  /** Organizations whose advisories concern everybody's images. */
  readonly publicRoots: readonly string[] | "all";
}

/** From a day on, a name has this list of versions; undefined while the image has nothing of the name. */
interface Segment {
  readonly day: number;
  readonly list: number | undefined;
}

type Days = readonly (number | undefined)[];

export function createResolvedDays({ range, now, histories, names, versions, publicRoots }: ResolvedDaysOptions): ResolvedDays {
  const known = new Map<number, Days>();
  const start = startOfDay(range.first);
  const open = publicRoots === "all" ? "all" : new Set(publicRoots);

  /** The days from whose ends on what the histories of a name are about is resolved where these versions are. */
  function resolvedDays(name: number, list: number): Days {
    const key = name * versions.length + list;
    const days = known.get(key) ?? resolvedTimes(names[name]?.type ?? "", histories[name] ?? [], versions[list] ?? []).map(dayOf);
    known.set(key, days);
    return days;
  }

  /** All days before the range come to the same. */
  function dayOf(time: string | undefined): number | undefined {
    return time === undefined || time > now ? undefined : time < start ? range.first - 1 : dayOfTime(time);
  }

  function concerns(history: History, root: string): boolean {
    return open === "all" || history.root === root || open.has(history.root);
  }

  function reportName(name: number, segments: readonly Segment[], root: string, report: (day: number, history: History) => void): number {
    const ofName = histories[name] ?? [];
    for (const [index, { day, list }] of segments.entries()) {
      if (list === undefined) continue;
      const until = Math.min((segments[index + 1]?.day ?? Number.POSITIVE_INFINITY) - 1, range.last);
      const before = segments[index - 1]?.list;
      const days = resolvedDays(name, list);
      // What was not there the day before counts as if it had been.
      const earlier = before === undefined ? days : resolvedDays(name, before);
      for (const [at, history] of ofName.entries()) {
        const [resolved, was] = [days[at], earlier[at]];
        if (resolved === undefined || resolved > until || !concerns(history, root)) continue;
        if (resolved > day) report(resolved, history);
        else if (day >= range.first && (was === undefined || was >= day)) report(day, history);
      }
    }
    return ofName.length * segments.length;
  }

  return {
    of({ states, root }, report) {
      let looks = 0;
      for (const [name, segments] of segmentsOf(states, histories)) looks += reportName(name, segments, root, report);
      return looks;
    },
  };
}

/** Most packages stay the same when an image is replaced. */
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
