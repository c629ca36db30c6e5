/** When advisories came to say that a package is fixed, or never was affected: what can resolve them in an image. */
import { type RawBuilder, sql } from "kysely";
import { within } from "../../api/resource/conditions.ts";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rangeAtOrBelow, rootOf } from "../../lib/uid.ts";
import { compareVersions } from "../../lib/version-order/compare.ts";
import { parseResolutions, type Resolution, resolutionsFrom, VERSIONLESS_LENGTH, withoutLatestTime } from "../storage/resolutions.ts";
import type { PackageName } from "./package-lists.ts";
import { readAhead } from "./read-ahead.ts";

/** What makes advisories of one name and organization resolved at the same times, wherever it is. */
export interface History {
  /** Organization of the advisories. */
  readonly root: string;
  /** The latest first. Those before the range stand for others that are before it. */
  readonly resolutions: readonly Resolution[];
  readonly advisories: readonly ReportedAdvisory[];
}

interface GrowingHistory extends History {
  readonly advisories: ReportedAdvisory[];
}

export interface ReportedAdvisory {
  readonly uid: string;
  readonly advisory_id: string;
}

/** A name of packages, and whether their versions changed: then what was said before the range counts, too. */
export interface WantedName extends PackageName {
  readonly index: number;
  readonly changed: number;
}

export interface HistoryQuery {
  readonly names: readonly WantedName[];
  /** Organizations of which all is read. */
  readonly publicRoots: readonly string[] | "all";
  /** Groups at and below which it is read in others. */
  readonly scopes: readonly string[];
  /** As columns have times: all that is earlier comes to the same in this report. */
  readonly start: string;
}

const MAX_HISTORIES = 400_000;
/** Names of one query: a name may have thousands of advisories, and others are to be answered in between. */
const CHUNK = 100;

/** By the index of the name. Only those that something was said of since the range began, or whose packages changed: no others can become resolved in it. */
export async function readHistories(query: HistoryQuery, db: ReadDb): Promise<(readonly History[])[]> {
  const { names, start } = query;
  const histories = names.map(() => new Map<string, GrowingHistory>());
  const isKnown = isReadable(query, db);
  const from = resolutionsFrom(start);
  let left = MAX_HISTORIES;
  const read = (chunk: readonly WantedName[]) => {
    const wanted = db.dialect.rowsOf(chunk, { index: "bigint", type: "text", name: "text", changed: "bigint" });
    return sql<AdvisoryRow>`select w."index", a.uid, a.advisory_id, a.resolutions from ${wanted} as w
      join advisory as a on a.artifact_name = w.name and a.artifact_type = w.type and a.delete_time is null and a.resolutions <> ''
      where ((w.changed = 1 and length(a.resolutions) > ${VERSIONLESS_LENGTH}) or a.resolutions >= ${from}) and ${isKnown}
      limit ${left + 1}`.execute(db);
  };
  const chunks = Array.from({ length: Math.ceil(names.length / CHUNK) }, (_, i) => names.slice(i * CHUNK, (i + 1) * CHUNK));
  for await (const [, { rows }] of readAhead(chunks, read, db)) {
    left -= rows.length;
    if (left < 0) throw resourceExhausted("too many advisories are about the packages of these images: ask for fewer images or days");
    for (const row of rows) add(row, histories[Number(row.index)] as Map<string, GrowingHistory>, from);
  }
  return histories.map((ofName) => [...ofName.values()]);
}

interface AdvisoryRow extends ReportedAdvisory {
  readonly index: number;
  readonly resolutions: string;
}

/** Most advisories of a package are fixed in the same few versions: from here on they are one. @param from the text before which all comes to the same */
function add({ uid, advisory_id, resolutions }: AdvisoryRow, histories: Map<string, GrowingHistory>, from: string): void {
  const root = rootOf(uid);
  const key = root + (resolutions < from ? withoutLatestTime(resolutions) : resolutions);
  const known = histories.get(key);
  if (known === undefined) histories.set(key, { root, resolutions: parseResolutions(resolutions), advisories: [{ uid, advisory_id }] });
  else known.advisories.push({ uid, advisory_id });
}

/** Unindexed: names find fewer rows. */
function isReadable({ publicRoots, scopes }: HistoryQuery, { dialect }: ReadDb): RawBuilder<boolean> {
  if (publicRoots === "all") return sql`1 = 1`;
  const isPublic = sql`substr(a.uid, 1, 40) in (select open.value from ${dialect.valuesOf(publicRoots)} as open)`;
  return sql`(${isPublic} or ${within(scopes.map(rangeAtOrBelow), dialect.unindexed("a.uid"), dialect)})`;
}

/** From when on what each is about is resolved where these versions are: each version has to be fixed. Undefined for never. */
export function resolvedTimes(type: string, histories: readonly History[], versions: readonly string[]): (string | undefined)[] {
  // Advisories of a package are often fixed in the same version.
  const known = versions.map(() => new Map<string, boolean>());
  const isIn = (fixed: string, index: number): boolean => {
    const answers = known[index] as Map<string, boolean>;
    const answer = answers.get(fixed) ?? isAtMost(type, fixed, versions[index] ?? "");
    answers.set(fixed, answer);
    return answer;
  };
  return histories.map(({ resolutions }) => {
    let latest: string | undefined = "";
    for (let index = 0; index < versions.length && latest !== undefined; index++) {
      const resolution = resolutions.findLast(([, version]) => version === undefined || isIn(version, index));
      latest = resolution === undefined ? undefined : resolution[0] > latest ? resolution[0] : latest;
    }
    return latest;
  });
}

/** Versions that have no order are at most each other where they are the same. */
function isAtMost(type: string, fixed: string, version: string): boolean {
  return (compareVersions(type, fixed, version) ?? (fixed === version ? 0 : 1)) <= 0;
}
