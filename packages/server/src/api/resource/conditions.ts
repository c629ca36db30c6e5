/** SQL conditions that confine a query to a selection's rows. */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { rangeAtOrBelow, type UidRange } from "../../lib/uid.ts";
import type { Call } from "../call/call.ts";
import type { Resource } from "./define.ts";
import type { Selection } from "./selection.ts";

/** How the rows are found: `seek` by the indexes of what confines them, `test` one by one along the index of their order. */
export type Approach = "seek" | "test";

/** Above this many ranges they are handed over as a list: a long OR costs more than it saves, and its depth is limited. */
const MANY_RANGES = 32;

type Bool = RawBuilder<boolean>;

/** Where a selection's rows are read. */
export function source({ resource, view }: Selection, dialect: Dialect): RawBuilder<unknown> {
  return view.index === undefined ? sql.table(resource.table) : dialect.readBy(resource.table, view.index);
}

/** To find a selection's rows by what confines them. @param ranges `test` where the other conditions find them sooner */
export function sought({ resource, view, beside }: Selection, dialect: Dialect, ranges: Approach = "seek"): Bool {
  const found = [...view.conditions.map((condition) => condition.seek), ...live(resource)];
  if (view.isWithinRanges) return and(found);
  const visible = [within(view.ranges, ranges, sql.ref("uid"), resource.table, dialect), ...(beside === undefined ? [] : [beside])];
  return and([or(visible), ...found]);
}

/** In the words of the indexes that leave deleted rows out. */
export function live({ hasDeleteTime }: Pick<Resource, "hasDeleteTime">): Bool[] {
  return hasDeleteTime ? [sql<boolean>`delete_time is null`] : [];
}

/** To meet the rows within a selection's ranges along the index of its order, after its cursor. */
export function metWithin(selection: Selection, dialect: Dialect): Bool {
  const { resource, view, order } = selection;
  const tests = [...view.conditions.map((condition) => condition.test), ...live(resource)];
  const [first, last] = [view.ranges.at(0), view.ranges.at(-1)];
  const inRange = inRanges(view, dialect.unindexed("uid"), resource.table, dialect);
  if (order.column !== "uid" || first === undefined || last === undefined) return and([inRange, ...tests, ...afterCursor(selection)]);
  return and([...stretch(first.lower, last.upper, selection), ...(first === last ? [] : [inRange]), ...tests]);
}

/** A test of one uid after the other. */
export function inRanges({ ranges }: Selection["view"], uid: RawBuilder<unknown>, table: string, dialect: Dialect): Bool {
  return within(ranges, "test", uid, table, dialect);
}

/** In uid order the ranges lie in one stretch of the index. SQLite seeks by the first bound it finds on a side, so the nearest must be the only one. */
function stretch(lower: string, upper: string, { after, order }: Selection): Bool[] {
  const [from, to] = [sql<boolean>`uid >= ${lower}`, sql<boolean>`uid < ${upper}`];
  if (after === undefined) return [from, to];
  if (order.descending) return [from, after.uid < upper ? sql<boolean>`uid < ${after.uid}` : to];
  return [after.uid < lower ? from : sql<boolean>`uid > ${after.uid}`, to];
}

/** The rows in root that a selection has beside its ranges, after its cursor; few, and anywhere in the order. */
export function metInRoot(selection: Selection): Bool | undefined {
  const { view, beside } = selection;
  if (beside === undefined) return undefined;
  return and([sql<boolean>`parent is null`, beside, ...view.conditions.map((condition) => condition.test), ...afterCursor(selection)]);
}

/** Ties of the key are in ascending order of the uid. The first half alone lets an index seek. */
export function afterCursor({ after, order }: Selection): Bool[] {
  if (after === undefined) return [];
  const key = sql.ref(order.column);
  const first = order.descending ? sql<boolean>`${key} <= ${after.key}` : sql<boolean>`${key} >= ${after.key}`;
  return [first, sql<boolean>`(${key} <> ${after.key} or uid > ${after.uid})`];
}

/** Rows of a table with uids whose `column`, which holds uids too, is at or below one of the groups. */
export function atOrBelow(scopes: readonly string[], table: string, column: string, dialect: Dialect): Bool {
  const ranges = scopes.map(rangeAtOrBelow);
  return ranges.length <= MANY_RANGES ? inSome(ranges, sql.ref(column)) : joined(ranges, table, column, dialect);
}

/** What a list asks for: its rows are those below the groups where the caller holds it. */
export function listCapabilities({ operation }: Call): bigint {
  if (operation.access.mode !== "unscoped") throw new Error(`${operation.name}: a list must be unscoped`);
  return operation.access.capabilities;
}

export function within(ranges: readonly UidRange[], approach: Approach, uid: RawBuilder<unknown>, table: string, dialect: Dialect): Bool {
  if (ranges.length <= MANY_RANGES) return inSome(ranges, uid);
  if (approach === "seek") return joined(ranges, table, "uid", dialect);
  return sql<boolean>`exists (select 1 from ${listed(ranges, dialect)} as scope where ${inScope(uid)})`;
}

function inSome(ranges: readonly UidRange[], uid: RawBuilder<unknown>): Bool {
  return or(ranges.map(({ lower, upper }) => sql<boolean>`(${uid} >= ${lower} and ${uid} < ${upper})`));
}

/** Each range finds its own rows by the column's index, so that many ranges cost no more than their rows. */
function joined(ranges: readonly UidRange[], table: string, column: string, dialect: Dialect): Bool {
  const below = sql`${listed(ranges, dialect)} as scope join ${sql.table(table)} as below on ${inScope(sql.ref(`below.${column}`))}`;
  return sql<boolean>`uid in (select below.uid from ${below})`;
}

function listed(ranges: readonly UidRange[], dialect: Dialect): RawBuilder<unknown> {
  return dialect.valuesOf(ranges.map(({ lower }) => lower));
}

/** A range starts at `G` or `G/` and ends before `G0`. */
function inScope(uid: RawBuilder<unknown>): Bool {
  return sql<boolean>`${uid} >= scope.value and ${uid} < rtrim(scope.value, '/') || '0'`;
}

export function and(conditions: readonly Bool[]): Bool {
  return conditions.length === 0 ? sql<boolean>`1 = 1` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function or(conditions: readonly Bool[]): Bool {
  return conditions.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`(${sql.join(conditions, sql` or `)})`;
}
