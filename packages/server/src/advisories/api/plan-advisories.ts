/**
 * How a list of advisories is counted and found. Kinds and people are counted in advance, so a filter by them alone has its total without looking. Of
 * several filters the one that finds the fewest leads, and the others are tested on what it finds. Where each finds many, the rows are walked in
 * their order and the total is left out.
 */
import { type RawBuilder, sql } from "kysely";
import { countAll } from "../../api/resource/count-rows.ts";
import type { Plan } from "../../api/resource/list.ts";
import type { Selection } from "../../api/resource/selection.ts";
import type { Condition, View } from "../../api/resource/visible.ts";
import { countOfAll } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import type { FoundFilter } from "./found-filters.ts";
import type { CountedFilter } from "./kind-filters.ts";

/** What is counted one by one, and sorted, while somebody waits. */
const MANY = 5_000;
/** So few that no other filter need be looked at for one that finds fewer. */
const FEW = 200;
/** What the filters test is in it. */
const INDEX = "advisory_facts";

export interface AdvisoryFilters {
  readonly counted: readonly CountedFilter[];
  readonly found: readonly FoundFilter[];
  /** The only one that is asked for; undefined for all. */
  readonly uid: string | undefined;
}

/** What finds all that is meant, and perhaps more; nothing outside the ranges. */
interface Lead {
  readonly condition: Condition;
  /** Of a filter on the table's own columns. */
  readonly own?: FoundFilter["own"];
  /** How many it finds. */
  readonly size: number;
}

/** @param many for tests: where counting ends */
export async function planAdvisories(
  { counted, found, uid }: AdvisoryFilters,
  selection: Selection,
  db: ReadDb,
  many: number = MANY,
): Promise<Plan> {
  const { view } = selection;
  const tests = [...counted, ...found].map(({ test }) => test);
  // Uids that the hierarchy names, or a group's children where nothing else finds the rows.
  const own = view.conditions.map(({ test }) => test);
  if (uid !== undefined) return tested(view, undefined, [...own, ...tests, sql<boolean>`uid = ${uid}`], selection, db);
  const [only] = counted;
  if (only !== undefined && tests.length === 1 && view.counted !== undefined) return countedPlan(only, view.counted, selection, db, many);
  const lead = await leadOf({ counted, found }, selection, db, many);
  if (lead === undefined) return walkedPlan([...view.conditions, ...tests.map(same)], selection, db, many);
  const others = tests.filter((test) => test !== lead.condition.test);
  if (others.length > 0 || own.length > 0) return tested(view, lead, [...own, ...others], selection, db);
  // Its own index has all that is asked, and those of one value in the order of their uids.
  const conditions = [lead.own === undefined ? lead.condition : same(lead.own.condition(selection))];
  return { view: { ...view, conditions, isWithinRanges: true, index: lead.own?.index ?? INDEX }, count: { total: lead.size, beside: 0 } };
}

/** One filter, by what is counted in advance. */
async function countedPlan(
  filter: CountedFilter,
  { groups, direct }: NonNullable<View["counted"]>,
  selection: Selection,
  db: ReadDb,
  many: number,
): Promise<Plan> {
  const { view } = selection;
  const { below, direct: children } = await filter.count(db, groups);
  const count = { total: direct ? children : below, beside: 0, effort: below };
  const isFound = below <= many;
  const seek = isFound ? uidIn(filter.uids(selection, groups), below) : filter.test;
  const conditions = [...view.conditions.map(({ test }) => same(test)), { seek, test: filter.test }];
  return { view: { ...view, conditions, isWithinRanges: isFound, index: INDEX }, count };
}

/** What the lead finds is counted where all else is true, too; without a lead, all that is in the ranges. */
async function tested(
  view: View,
  lead: Lead | undefined,
  tests: readonly RawBuilder<boolean>[],
  selection: Selection,
  db: ReadDb,
): Promise<Plan> {
  const conditions = [...(lead === undefined ? [] : [lead.condition]), ...tests.map(same)];
  const met = { ...view, conditions, isWithinRanges: lead !== undefined, index: INDEX };
  const count = await countAll({ ...selection, view: met }, db);
  return { view: met, count: { ...count, ...(lead !== undefined && { effort: lead.size }) } };
}

/** Each filter finds many. They are counted where all there is, or what the hierarchy filter finds, is not more. */
async function walkedPlan(conditions: readonly Condition[], selection: Selection, db: ReadDb, many: number): Promise<Plan> {
  const { view } = selection;
  const walked = { ...view, conditions };
  if (view.counted === undefined) return { view: walked, count: await countAll({ ...selection, view: walked }, db) };
  const { below } = await countOfAll(db, "advisory", view.counted.groups);
  const tests = conditions.map(({ test }) => test);
  if (below <= many) return tested(view, undefined, tests, selection, db);
  return { view: { ...walked, index: INDEX }, count: { total: undefined, beside: 0 } };
}

/** Undefined where each finds many. */
async function leadOf(
  { counted, found }: Omit<AdvisoryFilters, "uid">,
  selection: Selection,
  db: ReadDb,
  many: number,
): Promise<Lead | undefined> {
  const groups = selection.view.counted?.groups;
  let best: Lead | undefined;
  const consider = (size: number, rows: number, uids: RawBuilder<unknown>, { test, own }: Pick<FoundFilter, "test" | "own">) => {
    if (size < (best?.size ?? many + 1)) best = { size, condition: { seek: uidIn(uids, rows), test }, ...(own && { own }) };
  };
  for (const filter of groups === undefined ? [] : counted) {
    if (groups === undefined) continue;
    const { below } = await filter.count(db, groups);
    consider(below, below, filter.uids(selection, groups), filter);
  }
  for (const filter of found) {
    if ((best?.size ?? many) <= FEW) break;
    const counts = await countUpTo(many, filter, selection, db);
    if (counts !== undefined) consider(counts.uids, counts.rows, filter.uids(selection), filter);
  }
  return best;
}

/** Undefined for more, or where it would take a look at many more to know. What a filter finds twice are two rows. */
async function countUpTo(
  many: number,
  { reach, uids, isDistinct }: FoundFilter,
  selection: Selection,
  db: ReadDb,
): Promise<{ readonly uids: number; readonly rows: number } | undefined> {
  const enough = 2 * many;
  const count = async (what: RawBuilder<unknown>, rows: RawBuilder<unknown>) => {
    const some = sql`select * from (${rows}) as f limit ${enough + 1}`;
    const answer = await sql<{ uids: number; rows: number }>`select ${what} as "uids", count(*) as "rows" from (${some}) as s`.execute(db);
    return { uids: Number(answer.rows[0]?.uids), rows: Number(answer.rows[0]?.rows) };
  };
  if (reach !== undefined && (await count(sql`0`, reach)).rows > enough) return undefined;
  const counts = await count(isDistinct ? sql`count(*)` : sql`count(distinct uid)`, uids(selection));
  return counts.uids > many || counts.rows > enough ? undefined : counts;
}

/** The limit tells PostgreSQL how many rows to plan for; there is room for those that come meanwhile. */
function uidIn(uids: RawBuilder<unknown>, rows: number): RawBuilder<boolean> {
  return sql<boolean>`uid in (${uids} limit ${rows + 100})`;
}

function same(test: RawBuilder<boolean>): Condition {
  return { seek: test, test };
}
