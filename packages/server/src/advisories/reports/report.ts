/**
 * Builds the report of the vulnerabilities that were resolved in images, day by day. It combines the tag history, the
 * packages of the images and the events of advisories.
 */
import { setImmediate } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";
import type { Publication } from "../documents/publication.ts";
import { type DayRange, startOfDay } from "./days.ts";
import { readDescriptions } from "./descriptions.ts";
import { type History, readHistories, type WantedName } from "./histories.ts";
import type { Image } from "./image-sources.ts";
import { type ImageName, type ImageState, readImageStates } from "./image-states.ts";
import { type PackageList, type PackageLists, readPackageLists } from "./package-lists.ts";
import { createResolvedDays, type ResolvedDays, type Timeline } from "./resolved-days.ts";

const MAX_COMPARISONS = 20_000_000;

export interface ReportQuery {
  /** Without duplicates. */
  readonly images: readonly ImageName[];
  readonly range: DayRange;
  readonly now: Date;
  /** Groups at and below which the caller may read unpublished advisories. */
  readonly readable: readonly string[];
}

/**
 * @returns a JSON array of ResolvedVulnsReport (platform.advisory.v2), one per day
 * @throws RESOURCE_EXHAUSTED if the report would be too large
 */
export async function buildResolvedReports(
  { images, range, now, readable }: ReportQuery,
  publication: Publication,
  db: ReadDb,
): Promise<string> {
  const states = await readImageStates(images, range, db);
  const { timelines, lists } = await readTimelines(images, states, db);
  const publicRoots = await publication.roots(db);
  const ownRoots = new Set(timelines.map(({ root }) => root));
  const scopes = readable.filter((uid) => ownRoots.has(rootOf(uid)));
  const names = listWantedNames(timelines, lists);
  const start = startOfDay(range.first);
  const today = now.toISOString();
  const histories = await readHistories({ names, publicRoots, scopes, start: start < today ? start : today }, db);
  const options = { range, now: today, histories, names, versions: lists.versions, publicRoots };
  return encodeReports(range, await findResolved(timelines, createResolvedDays(options)), db);
}

/** The histories that were resolved on each day. */
type HistoriesByDay = ReadonlyMap<number, ReadonlySet<History>>;

async function findResolved(timelines: readonly Timeline[], resolvedDays: ResolvedDays): Promise<HistoriesByDay> {
  const found = new Map<number, Set<History>>();
  let comparisons = 0;
  for (const timeline of timelines) {
    comparisons += resolvedDays.visit(timeline, (day, history) => {
      const ofDay = found.get(day);
      if (ofDay?.has(history)) return;
      comparisons += history.advisories.length;
      if (ofDay === undefined) found.set(day, new Set([history]));
      else ofDay.add(history);
    });
    if (comparisons > MAX_COMPARISONS)
      throw resourceExhausted("these images changed too often to compare them; request fewer images or days");
    // Yield to other requests.
    await setImmediate();
  }
  return found;
}

/** The packages of each image over time. The packages of a digest that occurs several times in a repo are read once. */
async function readTimelines(images: readonly ImageName[], states: readonly (readonly ImageState[])[], db: ReadDb) {
  const numbers = new Map<string, number>();
  const contents: Image[] = [];
  const numbered = images.map(({ repo_uid }, index) =>
    (states[index] ?? []).map(({ day, digest }) => {
      const key = `${repo_uid} ${digest}`;
      const number = numbers.get(key) ?? contents.push({ repo_uid, digest }) - 1;
      numbers.set(key, number);
      return { day, number };
    }),
  );
  const lists = await readPackageLists(contents, db);
  const timelines = images.map(
    ({ repo_uid }, index): Timeline => ({
      root: rootOf(repo_uid),
      states: (numbered[index] ?? []).map(({ day, number }) => ({ day, packages: lists.lists[number] as PackageList })),
    }),
  );
  return { timelines, lists };
}

/** All package names. `changed` is 1 for a name whose versions changed within one image. */
function listWantedNames(timelines: readonly Timeline[], { names }: PackageLists): WantedName[] {
  const changed = new Set<number>();
  for (const { states } of timelines) {
    for (const [index, { packages }] of states.entries()) {
      const before = states[index - 1]?.packages;
      if (before === undefined) continue;
      for (const [name, list] of packages) if (before.has(name) && before.get(name) !== list) changed.add(name);
    }
  }
  return names.map((name, index) => ({ ...name, index, changed: changed.has(index) ? 1 : 0 }));
}

async function encodeReports({ first, last }: DayRange, found: HistoriesByDay, db: ReadDb): Promise<string> {
  const describe = await readDescriptions(new Set([...found.values()].flatMap((ofDay) => [...ofDay])), db);
  const reports: string[] = [];
  for (let day = first; day <= last; day++) {
    reports.push(`{"date":"${startOfDay(day)}","resolvedVulns":[${describe(found.get(day) ?? [])}]}`);
    await setImmediate();
  }
  return `[${reports.join(",")}]`;
}
