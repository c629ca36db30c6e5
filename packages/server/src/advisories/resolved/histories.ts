/** When advisories came to say that a package is fixed, or never was affected: what can resolve them in an image. */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";
import { compareVersions } from "../../lib/version-order/compare.ts";
import type { PackageName } from "./package-lists.ts";

/** Of one advisory, approved events only. */
export interface History {
  readonly uid: string;
  readonly id: string;
  /** Its organization. */
  readonly root: string;
  readonly type: string;
  /** When it was first said not to apply. */
  falsePositiveTime: string | undefined;
  /** In the order of time. */
  readonly fixes: { readonly time: string; readonly version: string }[];
}

/** A name of packages, and whether their versions changed: then what was said before the range counts, too. */
export interface WantedName extends PackageName {
  readonly index: number;
  readonly changed: number;
}

export interface HistoryQuery {
  readonly names: readonly WantedName[];
  /** Uids of organizations. */
  readonly roots: readonly string[] | "all";
  readonly start: string;
  /** Not in it. */
  readonly end: string;
}

/** Numbers of EventTypeFilter. */
const FIXED = 3;
const FALSE_POSITIVE = 4;
const APPROVED = 2;

const MAX_EVENTS = 200_000;
/** Names of one query. */
const CHUNK = 1000;

interface EventRow {
  readonly index: number;
  readonly uid: string;
  readonly advisory_id: string;
  readonly type: number;
  readonly create_time: string;
  readonly body: string;
}

/** By the index of the name. Only those that something was said of in the range, or whose packages changed: no others can become resolved in it. */
export async function readHistories({ names, roots, start, end }: HistoryQuery, db: ReadDb): Promise<ReadonlyMap<number, History[]>> {
  const histories = new Map<number, History[]>();
  const isKnown =
    roots === "all" ? sql`1 = 1` : sql`substr(a.uid, 1, 40) in (select known.value from ${db.dialect.valuesOf(roots)} as known)`;
  let left = MAX_EVENTS;
  for (let from = 0; from < names.length; from += CHUNK) {
    const chunk = names.slice(from, from + CHUNK);
    const wanted = db.dialect.rowsOf(chunk, { index: "bigint", type: "text", name: "text", changed: "bigint" });
    const { rows } = await sql<EventRow>`
      select w."index", a.uid, a.advisory_id, e.type, e.create_time, case when e.type = ${FIXED} then e.body else '' end as body
      from ${wanted} as w join advisory as a on a.artifact_name = w.name and a.artifact_type = w.type
      join advisory_event as e on e.advisory_uid = a.uid and ${resolves("e")}
      where a.delete_time is null and a.event_types & ${sql.lit((1 << FIXED) | (1 << FALSE_POSITIVE))} <> 0 and ${isKnown} and e.create_time < ${end}
      and (w.changed = 1 or exists (select 1 from advisory_event as r
        where r.advisory_uid = a.uid and ${resolves("r")} and r.create_time >= ${start} and r.create_time < ${end}))
      order by w."index", a.uid, e.create_time limit ${left + 1}`.execute(db);
    left -= rows.length;
    if (left < 0) throw resourceExhausted("too many advisories are about the packages of these images: ask for fewer images or days");
    for (const row of rows) add(histories, row, names[Number(row.index)]?.type ?? "");
  }
  return histories;
}

function resolves(table: string): RawBuilder<boolean> {
  const [type, state] = [sql.ref(`${table}.type`), sql.ref(`${table}.review_state`)];
  return sql`${type} in (${sql.lit(FIXED)}, ${sql.lit(FALSE_POSITIVE)}) and ${state} = ${sql.lit(APPROVED)}`;
}

/** @param row in the order of advisories and times */
function add(
  histories: Map<number, History[]>,
  { index, uid, advisory_id: id, type, create_time: time, body }: EventRow,
  of: string,
): void {
  const ofName = histories.get(Number(index)) ?? [];
  histories.set(Number(index), ofName);
  let history = ofName.at(-1);
  if (history?.uid !== uid) {
    history = { uid, id, root: rootOf(uid), type: of, falsePositiveTime: undefined, fixes: [] };
    ofName.push(history);
  }
  if (type === FALSE_POSITIVE) history.falsePositiveTime ??= time;
  else history.fixes.push({ time, version: (JSON.parse(body) as { fixed: { fixedVersion: string } }).fixed.fixedVersion });
}

/** From when on the advisory is resolved where these versions are: each of them has to be fixed. Undefined for never. */
export function resolvedTime({ type, falsePositiveTime, fixes }: History, versions: readonly string[]): string | undefined {
  let fixedTime: string | undefined = "";
  for (const version of versions) {
    const fix = fixes.find((one) => isAtMost(type, one.version, version));
    if (fix === undefined || fixedTime === undefined) fixedTime = undefined;
    else if (fix.time > fixedTime) fixedTime = fix.time;
  }
  if (fixedTime === undefined || fixedTime === "") return falsePositiveTime;
  return falsePositiveTime !== undefined && falsePositiveTime < fixedTime ? falsePositiveTime : fixedTime;
}

/** Versions that have no order are at most each other where they are the same. */
function isAtMost(type: string, fixed: string, version: string): boolean {
  return (compareVersions(type, fixed, version) ?? (fixed === version ? 0 : 1)) <= 0;
}
