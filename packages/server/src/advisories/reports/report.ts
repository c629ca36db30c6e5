/** Which vulnerabilities were resolved in images, day by day: from the history of tags, the packages of what they named, and the events of advisories. */
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

const MAX_LOOKS = 20_000_000;

export interface ReportQuery {
  /** Each once. */
  readonly images: readonly ImageName[];
  readonly range: DayRange;
  readonly now: Date;
  /** Groups at and below which the caller may read advisories that are not public. */
  readonly readable: readonly string[];
}

/** A JSON array of ResolvedVulnsReport (platform.advisory.v2), one for each day. @throws RESOURCE_EXHAUSTED where it would be too much */
export async function resolvedReports(
  { images, range, now, readable }: ReportQuery,
  publication: Publication,
  db: ReadDb,
): Promise<string> {
  const states = await readImageStates(images, range, db);
  const { timelines, lists } = await readTimelines(images, states, db);
  const publicRoots = await publication.within(db);
  const ownRoots = new Set(timelines.map(({ root }) => root));
  const scopes = readable.filter((uid) => ownRoots.has(rootOf(uid)));
  const names = wantedNames(timelines, lists);
  const [start, today] = [startOfDay(range.first), now.toISOString()];
  const histories = await readHistories({ names, publicRoots, scopes, start: start < today ? start : today }, db);
  const options = { range, now: today, histories, names, versions: lists.versions, publicRoots };
  return reportsText(range, await resolvedIn(timelines, createResolvedDays(options)), db);
}

/** By the day. */
type Found = ReadonlyMap<number, ReadonlySet<History>>;

async function resolvedIn(timelines: readonly Timeline[], resolvedDays: ResolvedDays): Promise<Found> {
  const found = new Map<number, Set<History>>();
  let looks = 0;
  for (const timeline of timelines) {
    looks += resolvedDays.of(timeline, (day, history) => {
      const ofDay = found.get(day);
      if (ofDay?.has(history)) return;
      looks += history.advisories.length;
      if (ofDay === undefined) found.set(day, new Set([history]));
      else ofDay.add(history);
    });
    if (looks > MAX_LOOKS) throw resourceExhausted("these images changed too much to compare them: ask for fewer images or days");
    // Others are to be answered in between.
    await setImmediate();
  }
  return found;
}

/** What each image was when. What one repo had several times is read once. */
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

/** All names of packages, and of which one image had other versions after it changed. */
function wantedNames(timelines: readonly Timeline[], { names }: PackageLists): WantedName[] {
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

async function reportsText({ first, last }: DayRange, found: Found, db: ReadDb): Promise<string> {
  const describe = await readDescriptions(new Set([...found.values()].flatMap((ofDay) => [...ofDay])), db);
  const reports: string[] = [];
  for (let day = first; day <= last; day++) {
    reports.push(`{"date":"${startOfDay(day)}","resolvedVulns":[${describe(found.get(day) ?? [])}]}`);
    await setImmediate();
  }
  return `[${reports.join(",")}]`;
}
