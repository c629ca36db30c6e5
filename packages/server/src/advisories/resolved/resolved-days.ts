/** On which days which advisories became resolved in an image. Pure. */
import { type DayRange, dayOfTime } from "./days.ts";
import { type History, resolvedTime } from "./histories.ts";
import type { PackageList } from "./package-lists.ts";

/** What an image was from a day on. */
export interface KnownState {
  readonly day: number;
  readonly packages: PackageList;
}

export interface Timeline {
  /** In the order of days. */
  readonly states: readonly KnownState[];
  /** Organization of the image. */
  readonly root: string;
}

export interface ResolvedDays {
  /** Calls `report` for each advisory and day. @returns how many advisories were looked at */
  of(timeline: Timeline, report: (day: number, history: History) => void): number;
}

export interface ResolvedDaysOptions {
  readonly range: DayRange;
  /** What is said to happen later has not happened. */
  readonly now: string;
  /** By the number of the name. */
  readonly histories: ReadonlyMap<number, readonly History[]>;
  /** By the number of the list. */
  readonly versions: readonly (readonly string[])[];
  /** Organizations whose advisories concern everybody's images. */
  readonly publicRoots: readonly string[] | "all";
}

export function createResolvedDays({ range, now, histories, versions, publicRoots }: ResolvedDaysOptions): ResolvedDays {
  const known = new Map<History, Map<number, number | undefined>>();
  const open = publicRoots === "all" ? "all" : new Set(publicRoots);

  /** The day from whose end on the advisory is resolved where these versions are. */
  function resolvedDay(history: History, list: number): number | undefined {
    const days = known.get(history) ?? new Map<number, number | undefined>();
    known.set(history, days);
    if (days.has(list)) return days.get(list);
    const time = resolvedTime(history, versions[list] ?? []);
    const day = time === undefined || time > now ? undefined : dayOfTime(time);
    days.set(list, day);
    return day;
  }

  /** Whether the advisory was resolved already when the image became what it is on that day. What was not in it before counts as if it had been. */
  function wasResolved(history: History, day: number, resolved: number, before: number | undefined): boolean {
    const earlier = before === undefined ? resolved : resolvedDay(history, before);
    return earlier !== undefined && earlier < day;
  }

  return {
    of({ states, root }, report) {
      let looks = 0;
      for (const [index, { day, packages }] of states.entries()) {
        const until = Math.min((states[index + 1]?.day ?? Number.POSITIVE_INFINITY) - 1, range.last);
        const before = states[index - 1]?.packages;
        for (const [name, list] of packages) {
          for (const history of histories.get(name) ?? []) {
            if (history.root !== root && open !== "all" && !open.has(history.root)) continue;
            looks++;
            const resolved = resolvedDay(history, list);
            if (resolved === undefined || resolved > until) continue;
            if (resolved > day) report(resolved, history);
            else if (day >= range.first && !wasResolved(history, day, resolved, before?.get(name))) report(day, history);
          }
        }
      }
      return looks;
    },
  };
}
