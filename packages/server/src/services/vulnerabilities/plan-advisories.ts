/**
 * How a list of advisories is counted and found. Kinds and people are counted in advance, so a filter by them alone has its total without looking. Of
 * several filters the one that finds the fewest leads, and the others are tested on what it finds. Where each finds many, the rows are walked in
 * their order and the total is left out.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { countAll } from "../../resource/count-rows.ts";
import type { Plan } from "../../resource/list.ts";
import type { Selection } from "../../resource/selection.ts";
import type { Condition, View } from "../../resource/visible.ts";
import type { FoundFilter } from "./found-filters.ts";
import type { CountedFilter } from "./kind-filters.ts";

/** What is counted one by one, and sorted, while somebody waits. */
const MANY = 10_000;

export interface AdvisoryFilters {
  readonly counted: readonly CountedFilter[];
  readonly found: readonly FoundFilter[];
  /** The only one that is asked for; undefined for all. */
  readonly uid: string | undefined;
}

/** A way to find all that is meant, and perhaps more. */
interface Lead {
  readonly condition: Condition;
  /** What the others say. */
  readonly others: readonly Condition[];
  /** How many it finds; undefined for many. */
  readonly size: number | undefined;
}

export async function planAdvisories({ counted, found, uid }: AdvisoryFilters, selection: Selection, db: ReadDb): Promise<Plan> {
  const { view } = selection;
  const tests = [...counted.map(({ test }) => same(test)), ...found.map(({ test }) => same(test))];
  const own = view.conditions.map(({ test }) => same(test));
  const exact = uid === undefined && found.length === 0 && counted.length === 1 ? counted[0] : undefined;
  const groups = view.counted;
  if (exact !== undefined && groups !== undefined) {
    const { below, direct } = await exact.count(db, groups.groups);
    const total = groups.direct ? direct : below;
    const seek = total > MANY ? exact.test : exact.seek(selection, groups.groups, db.dialect);
    return { view: { ...view, conditions: [...view.conditions, { seek, test: exact.test }] }, count: { total, beside: 0, effort: below } };
  }
  if (uid !== undefined) return counting({ ...view, conditions: [...own, ...tests, same(sql<boolean>`uid = ${uid}`)] }, selection, 1, db);
  const leads = await leadsOf({ counted, found, uid }, tests, selection, db);
  const best = leads.reduce<Lead | undefined>((a, b) => ((b.size ?? MANY + 1) < (a?.size ?? MANY + 1) ? b : a), undefined);
  if (best?.size === undefined) {
    // A hierarchy filter that names uids, or a group's children, finds them by itself.
    const walked = { ...view, conditions: [...view.conditions, ...tests] };
    if (view.counted === undefined) return counting(walked, selection, undefined, db);
    return { view: walked, count: { total: undefined, beside: 0 } };
  }
  return counting({ ...view, conditions: [...own, best.condition, ...best.others] }, selection, best.size, db);
}

/** Its hierarchy filter is tested, not sought, so its ranges must be said. */
async function counting(met: View, selection: Selection, effort: number | undefined, db: ReadDb): Promise<Plan> {
  const view = { ...met, isWithinRanges: false };
  const count = await countAll({ ...selection, view: { ...view, counted: undefined } }, db);
  return { view, count: { ...count, ...(effort !== undefined && { effort }) } };
}

async function leadsOf(
  { counted, found }: AdvisoryFilters,
  tests: readonly Condition[],
  selection: Selection,
  db: ReadDb,
): Promise<Lead[]> {
  const { view } = selection;
  const othersThan = (index: number) => tests.filter((_, i) => i !== index);
  const leads: Lead[] = [];
  for (const [i, filter] of counted.entries()) {
    if (view.counted === undefined) break;
    const { below } = await filter.count(db, view.counted.groups);
    const condition = { seek: filter.seek(selection, view.counted.groups, db.dialect), test: filter.test };
    leads.push({ condition, others: othersThan(i), size: below > MANY ? undefined : below });
  }
  for (const [i, filter] of found.entries()) {
    leads.push({ condition: filter, others: othersThan(counted.length + i), size: await countUpTo(filter, selection, db) });
  }
  return leads;
}

/** Undefined for more than MANY. */
async function countUpTo(filter: FoundFilter, selection: Selection, db: ReadDb): Promise<number | undefined> {
  const first = sql`select uid from (${filter.uids(selection)}) as f limit ${MANY + 1}`;
  const { rows } = await sql<{ n: number }>`select count(*) as n from (${first}) as first_ones`.execute(db);
  const n = Number(rows[0]?.n ?? 0);
  return n > MANY ? undefined : n;
}

function same(test: Condition["test"]): Condition {
  return { seek: test, test };
}
