/** When advisories came to say that a package is fixed, or never was affected: what can resolve them in an image. */
import { setImmediate } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";
import { compareVersions } from "../../lib/version-order/compare.ts";
import { within } from "../../resource/conditions.ts";
import { parseResolutions, type Resolution, resolutionsFrom } from "../resolutions.ts";
import type { PackageName } from "./package-lists.ts";

/** Of one advisory. */
export interface History {
  readonly uid: string;
  /** The latest first. */
  readonly resolutions: readonly Resolution[];
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
  /** Of the range, as columns have times. */
  readonly start: string;
}

const MAX_HISTORIES = 400_000;
/** Names of one query: a name may have thousands of advisories, and others are to be answered in between. */
const CHUNK = 200;

/** By the index of the name. Only those that something was said of since the range began, or whose packages changed: no others can become resolved in it. */
export async function readHistories(query: HistoryQuery, db: ReadDb): Promise<ReadonlyMap<number, History[]>> {
  const { names, start } = query;
  const histories = new Map<number, History[]>();
  const isKnown = isReadable(query, db);
  let left = MAX_HISTORIES;
  for (let from = 0; from < names.length; from += CHUNK) {
    const chunk = names.slice(from, from + CHUNK);
    const wanted = db.dialect.rowsOf(chunk, { index: "bigint", type: "text", name: "text", changed: "bigint" });
    const { rows } = await sql<{ index: number; uid: string; resolutions: string }>`
      select w."index", a.uid, a.resolutions from ${wanted} as w
      join advisory as a on a.artifact_name = w.name and a.artifact_type = w.type and a.delete_time is null and a.resolutions <> ''
      where (w.changed = 1 or a.resolutions >= ${resolutionsFrom(start)}) and ${isKnown} limit ${left + 1}`.execute(db);
    left -= rows.length;
    if (left < 0) throw resourceExhausted("too many advisories are about the packages of these images: ask for fewer images or days");
    for (const { index, uid, resolutions } of rows) {
      const history = { uid, resolutions: parseResolutions(resolutions) };
      const ofName = histories.get(Number(index));
      if (ofName === undefined) histories.set(Number(index), [history]);
      else ofName.push(history);
    }
    // SQLite answers at once: without this nobody else would be answered between chunks.
    await setImmediate();
  }
  return histories;
}

/** Unindexed: names find fewer rows. */
function isReadable({ publicRoots, scopes }: HistoryQuery, { dialect }: ReadDb): RawBuilder<boolean> {
  if (publicRoots === "all") return sql`1 = 1`;
  const isPublic = sql`substr(a.uid, 1, 40) in (select open.value from ${dialect.valuesOf(publicRoots)} as open)`;
  return sql`(${isPublic} or ${within(scopes.map(rangeAtOrBelow), "test", dialect.unindexed("a.uid"), "advisory", dialect)})`;
}

/** From when on each of the advisories is resolved where these versions are: each version has to be fixed. Undefined for never. */
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
