/**
 * Query planner of lists of advisories. Advisories are counted by kinds and people in advance, so the total of one such filter is
 * known. With several filters, the one that finds the fewest rows leads, and the others are tested on its rows. If each finds many rows,
 * the list is a scan in its order, without a total.
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

/** Rows that one call counts one by one and sorts at most. */
const MANY = 5_000;
/** A filter that finds no more rows than this leads; the remaining filters are not counted. */
const FEW = 200;
/** The index that covers most columns that filters test. */
const INDEX = "advisory_facts";
/** The index that covers the artifact's name and all columns that filters by kinds and people test. */
const NAMES = "advisory_by_artifact_name";
/** Indexes of columns that `INDEX` also covers. */
const COVERED: ReadonlySet<string> = new Set([NAMES, "advisory_by_component_name"]);

export interface AdvisoryFilters {
  readonly counted: readonly CountedFilter[];
  readonly found: readonly FoundFilter[];
  /** The only advisory to list; undefined for all. */
  readonly uid: string | undefined;
}

/** A filter that finds all wanted rows and perhaps more, but none outside of the ranges. */
interface Lead {
  readonly condition: Condition;
  /** Set for a filter on the table's own columns. */
  readonly own?: FoundFilter["own"];
  /** Number of rows that it finds. */
  readonly size: number;
}

/** The input of every step of planning. */
interface Planning {
  readonly selection: Selection;
  readonly db: ReadDb;
  /** Rows that are counted one by one at most. */
  readonly many: number;
  /** Whether the index `NAMES` covers all filters, where it covers a filter that has an index of its own. */
  readonly coversNames: boolean;
}

/** @param many for tests: rows that are counted one by one at most */
export async function planAdvisories(
  { counted, found, uid }: AdvisoryFilters,
  selection: Selection,
  db: ReadDb,
  many: number = MANY,
): Promise<Plan> {
  const { view } = selection;
  const planning = { selection, db, many, coversNames: found.length === 1 };
  const tests = [...counted, ...found].map(({ test }) => test);
  // Uids that the hierarchy filter names, or the children of a group if nothing else finds the rows.
  const named = view.conditions.map(({ test }) => test);
  if (uid !== undefined) return testedPlan(undefined, [...named, ...tests, sql<boolean>`uid = ${uid}`], planning);
  const [only] = counted;
  if (only !== undefined && tests.length === 1 && view.counted !== undefined) return countedPlan(only, view.counted, planning);
  const lead = await leadOf({ counted, found }, planning);
  if (lead === undefined)
    return orderedPlan(found, [...named, ...tests], planning) ?? scannedPlan([...view.conditions, ...tests.map(same)], planning);
  const others = tests.filter((test) => test !== lead.condition.test);
  if (others.length > 0 || named.length > 0) return testedPlan(lead, [...named, ...others], planning);
  // The filter's own index covers the condition, and holds the rows of one value in the order of their uids.
  const isIndexed = lead.own?.inOrder !== undefined && selection.order.column === "uid" && view.ranges.length === 1;
  const own = lead.own && same((isIndexed ? lead.own.inOrder : undefined) ?? lead.own.condition(selection));
  const whole = { ...view, conditions: [own ?? lead.condition], isWithinRanges: !isIndexed, index: lead.own?.index ?? INDEX };
  return { view: whole, count: { total: lead.size, rootRows: 0 }, isIndexed };
}

/** Plan for a single filter that is counted in advance. */
async function countedPlan(
  filter: CountedFilter,
  { groups, direct }: NonNullable<View["counted"]>,
  { selection, db, many }: Planning,
): Promise<Plan> {
  const { view } = selection;
  const { below, direct: children } = await filter.count(db, groups);
  const count = { total: direct ? children : below, rootRows: 0, effort: below };
  const isFound = below <= many;
  const seek = isFound ? uidIn(filter.uids(selection, groups), below) : filter.test;
  const conditions = [...view.conditions.map(({ test }) => same(test)), { seek, test: filter.test }];
  return { view: { ...view, conditions, isWithinRanges: isFound, index: INDEX }, count };
}

/** Tests the rows of the lead once, for the page and the total; without a lead, the rows of the ranges, which are few. */
function testedPlan(lead: Lead | undefined, tests: readonly RawBuilder<boolean>[], { selection, coversNames }: Planning): Plan {
  const names = coversNames && lead?.own?.index === NAMES ? same(lead.own.condition(selection)) : undefined;
  const leading = names ?? lead?.condition;
  const conditions = [...(leading === undefined ? [] : [leading]), ...tests.map(same)];
  const index = names === undefined ? INDEX : NAMES;
  return { view: { ...selection.view, conditions, isWithinRanges: lead !== undefined, index }, count: undefined };
}

/**
 * Plan if each filter finds many rows, and one of them finds the rows of one value. The part of its index with that value
 * is in the order of the list. Undefined if there is none, or if testing the others by `INDEX` is faster.
 */
function orderedPlan(
  found: readonly FoundFilter[],
  tests: readonly RawBuilder<boolean>[],
  { selection, coversNames }: Planning,
): Plan | undefined {
  const { order, view } = selection;
  // The hierarchy filter may hold few rows.
  if (order.column !== "uid" || view.counted === undefined) return undefined;
  const isFast = (index: string) => tests.length === 1 || !COVERED.has(index) || (index === NAMES && coversNames);
  const filter = found.find(({ own }) => own?.inOrder !== undefined && isFast(own.index));
  if (filter?.own?.inOrder === undefined) return undefined;
  const { index, inOrder } = filter.own;
  const conditions = [inOrder, ...tests.filter((test) => test !== filter.test)].map(same);
  return { view: { ...view, conditions, index }, count: { total: undefined, rootRows: 0 } };
}

/** Plan if each filter finds many rows. They are counted if the ranges, or the hierarchy filter, hold few enough rows. */
async function scannedPlan(conditions: readonly Condition[], planning: Planning): Promise<Plan> {
  const { selection, db, many } = planning;
  const view = { ...selection.view, conditions };
  if (view.counted === undefined) return { view, count: await countAll({ ...selection, view }, db) };
  const { below } = await countOfAll(db, "advisory", view.counted.groups);
  const tests = conditions.map(({ test }) => test);
  if (below <= many) return testedPlan(undefined, tests, planning);
  return { view: { ...view, index: INDEX }, count: { total: undefined, rootRows: 0 } };
}

/** The filter that finds the fewest rows; undefined if each finds many. */
async function leadOf({ counted, found }: Omit<AdvisoryFilters, "uid">, planning: Planning): Promise<Lead | undefined> {
  const { selection, db, many } = planning;
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
    const counts = await countUpTo(filter, planning);
    if (counts !== undefined) consider(counts.uids, counts.rows, filter.uids(selection), filter);
  }
  return best;
}

/** Undefined if the filter finds more than `many`, or if counting would read many more rows. A uid found twice makes two rows. */
async function countUpTo(
  { reach, uids, isDistinct }: FoundFilter,
  { selection, db, many }: Planning,
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

/** The limit tells PostgreSQL how many rows to plan for, with room for rows that are added in the meantime. */
function uidIn(uids: RawBuilder<unknown>, rows: number): RawBuilder<boolean> {
  return sql<boolean>`uid in (${uids} limit ${rows + 100})`;
}

function same(test: RawBuilder<boolean>): Condition {
  return { seek: test, test };
}
