/**
 * How a list of advisories is counted and found. Kinds and people are counted in advance, so a filter by them alone has its total without looking. Of
 * several filters the one that finds the fewest leads, and the others are tested on what it finds. Where each finds many, the rows are walked in
 * their order and the total is left out.
 */
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { countAll } from "../../resource/count-rows.ts";
import type { Plan } from "../../resource/list.ts";
import type { Selection } from "../../resource/selection.ts";
import type { Condition, View } from "../../resource/visible.ts";
import type { FoundFilter } from "./found-filters.ts";
import type { CountedFilter } from "./kind-filters.ts";

/** What is counted one by one, and sorted, while somebody waits. */
const MANY = 10_000;
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

/** What finds all that is meant, and perhaps more. */
interface Lead {
  readonly condition: Condition;
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
  if (lead !== undefined) {
    const others = tests.filter((test) => test !== lead.condition.test);
    if (others.length > 0 || own.length > 0) return tested(view, lead, [...own, ...others], selection, db);
    return { view: { ...view, conditions: [lead.condition], index: INDEX }, count: { total: lead.size, beside: 0 } };
  }
  const walked = { ...view, conditions: [...view.conditions, ...tests.map(same)] };
  if (view.counted !== undefined) return { view: { ...walked, index: INDEX }, count: { total: undefined, beside: 0 } };
  return { view: walked, count: await countAll({ ...selection, view: walked }, db) };
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
  const counts = await filter.count(db, groups);
  const total = direct ? counts.direct : counts.below;
  const seek = counts.below > many ? filter.test : uidIn(filter.uids(selection, groups));
  const conditions = [...view.conditions.map(({ test }) => same(test)), { seek, test: filter.test }];
  return { view: { ...view, conditions, isWithinRanges: false, index: INDEX }, count: { total, beside: 0, effort: counts.below } };
}

/** What the lead finds is counted where all else is true, too. */
async function tested(
  view: View,
  lead: Lead | undefined,
  tests: readonly RawBuilder<boolean>[],
  selection: Selection,
  db: ReadDb,
): Promise<Plan> {
  // The hierarchy filter is tested, not sought, so the ranges must be said.
  const conditions = [...(lead === undefined ? [] : [lead.condition]), ...tests.map(same)];
  const met = { ...view, conditions, isWithinRanges: false, index: INDEX };
  const count = await countAll({ ...selection, view: met }, db);
  return { view: met, count: { ...count, ...(lead !== undefined && { effort: lead.size }) } };
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
  const consider = (size: number | undefined, uids: RawBuilder<unknown>, test: RawBuilder<boolean>) => {
    if (size !== undefined && size < (best?.size ?? many + 1)) best = { condition: { seek: uidIn(uids), test }, size };
  };
  for (const filter of groups === undefined ? [] : counted) {
    if (groups !== undefined) consider((await filter.count(db, groups)).below, filter.uids(selection, groups), filter.test);
  }
  for (const filter of found) {
    if ((best?.size ?? many) <= FEW) break;
    consider(await countUpTo(many, filter, selection, db), filter.uids(selection), filter.test);
  }
  return best;
}

/** Undefined for more. What it finds twice counts once, unless that makes it too many. */
async function countUpTo(many: number, filter: FoundFilter, selection: Selection, db: ReadDb): Promise<number | undefined> {
  const first = sql`select uid from (${filter.uids(selection)}) as f limit ${2 * many + 1}`;
  const { rows } = await sql<{
    n: number;
    all: number;
  }>`select count(distinct uid) as n, count(*) as "all" from (${first}) as first_ones`.execute(db);
  const [counts] = rows;
  return counts === undefined || Number(counts.n) > many || Number(counts.all) > 2 * many ? undefined : Number(counts.n);
}

function uidIn(uids: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`uid in (${uids})`;
}

function same(test: RawBuilder<boolean>): Condition {
  return { seek: test, test };
}
