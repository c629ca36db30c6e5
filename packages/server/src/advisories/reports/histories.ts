/**
 * Reads which versions of packages advisories are fixed in, and since when. Reports derive from it when an advisory was
 * resolved in an image.
 */
import { type RawBuilder, sql } from "kysely";
import { within } from "../../api/resource/conditions.ts";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rangeAtOrBelow, rootOf } from "../../lib/uid.ts";
import { isAtMost } from "../../lib/version-order/compare.ts";
import { parseResolutions, type Resolution, resolutionsLowerBound, VERSIONLESS_LENGTH, withoutLatestTime } from "../storage/resolutions.ts";
import type { PackageName } from "./package-lists.ts";
import { readAhead } from "./read-ahead.ts";

/** Advisories of one package name and organization that are resolved at the same times in the same versions. */
export interface History {
  /** Uid of the advisories' organization. */
  readonly root: string;
  /** The latest first. Times before the report's range may be those of another advisory with the same versions. */
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

/**
 * A package name, and whether its versions changed in an image (0 or 1). If they did, resolutions before the range
 * count, too.
 */
export interface WantedName extends PackageName {
  readonly index: number;
  readonly changed: number;
}

export interface HistoryQuery {
  readonly names: readonly WantedName[];
  /** Organizations of which all advisories are read. */
  readonly publicRoots: readonly string[] | "all";
  /** In other organizations, advisories at and below these groups are read. */
  readonly scopes: readonly string[];
  /** In the format of time columns. The report does not distinguish times before it. */
  readonly start: string;
}

const MAX_HISTORIES = 400_000;
/** Names per query. A name may have thousands of advisories, and other requests are served between queries. */
const NAMES_PER_QUERY = 100;

/**
 * The histories of each name, in the order of the names. Leaves out advisories that cannot become resolved in the
 * range: those without a resolution since its start, unless the versions of their package changed.
 */
export async function readHistories(query: HistoryQuery, db: ReadDb): Promise<(readonly History[])[]> {
  const { names, start } = query;
  const histories = names.map(() => new Map<string, GrowingHistory>());
  const isKnown = isReadable(query, db);
  const from = resolutionsLowerBound(start);
  let left = MAX_HISTORIES;
  const read = (chunk: readonly WantedName[]) => {
    const wanted = db.dialect.rowsOf(chunk, { index: "bigint", type: "text", name: "text", changed: "bigint" });
    return sql<AdvisoryRow>`select w."index", a.uid, a.advisory_id, a.resolutions from ${wanted} as w
      join advisory as a on a.artifact_name = w.name and a.artifact_type = w.type and a.delete_time is null and a.resolutions <> ''
      where ((w.changed = 1 and length(a.resolutions) > ${VERSIONLESS_LENGTH}) or a.resolutions >= ${from}) and ${isKnown}
      limit ${left + 1}`.execute(db);
  };
  const chunks = Array.from({ length: Math.ceil(names.length / NAMES_PER_QUERY) }, (_, i) =>
    names.slice(i * NAMES_PER_QUERY, (i + 1) * NAMES_PER_QUERY),
  );
  for await (const [, { rows }] of readAhead(chunks, read, db)) {
    left -= rows.length;
    if (left < 0) throw resourceExhausted("these images have too many advisories; request fewer images or days");
    for (const row of rows) addToHistories(row, histories[Number(row.index)] as Map<string, GrowingHistory>, from);
  }
  return histories.map((ofName) => [...ofName.values()]);
}

interface AdvisoryRow extends ReportedAdvisory {
  readonly index: number;
  readonly resolutions: string;
}

/**
 * Advisories with the same resolutions share a history: most advisories of a package are fixed in the same few
 * versions.
 * @param from times before it are not distinguished
 */
function addToHistories({ uid, advisory_id, resolutions }: AdvisoryRow, histories: Map<string, GrowingHistory>, from: string): void {
  const root = rootOf(uid);
  const key = root + (resolutions < from ? withoutLatestTime(resolutions) : resolutions);
  const known = histories.get(key);
  if (known === undefined) histories.set(key, { root, resolutions: parseResolutions(resolutions), advisories: [{ uid, advisory_id }] });
  else known.advisories.push({ uid, advisory_id });
}

/** Not by index: the names find fewer rows. */
function isReadable({ publicRoots, scopes }: HistoryQuery, { dialect }: ReadDb): RawBuilder<boolean> {
  if (publicRoots === "all") return sql`1 = 1`;
  const isPublic = sql`substr(a.uid, 1, 40) in (select open.value from ${dialect.valuesOf(publicRoots)} as open)`;
  return sql`(${isPublic} or ${within(scopes.map(rangeAtOrBelow), dialect.unindexed("a.uid"), dialect)})`;
}

/** For each history, since when it is resolved in all of these versions; undefined if it is not. */
export function resolvedTimes(type: string, histories: readonly History[], versions: readonly string[]): (string | undefined)[] {
  // Advisories of a package are often fixed in the same version, so comparisons are cached.
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

/** Unordered versions are compared for equality. */
