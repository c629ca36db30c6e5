/** SQL conditions that confine a query to a selection's rows. */
import { type RawBuilder, sql } from "kysely";
import type { Bool, Dialect } from "../../db/dialect.ts";
import type { UidRange } from "../../lib/uid.ts";
import type { Call } from "../call/call.ts";
import type { Resource } from "./define.ts";
import type { Selection } from "./selection.ts";

/** Longer lists of ranges become a table to join: a long OR costs more than it saves, and its depth is limited. */
export const MANY_RANGES = 32;

/** The table that a selection's rows are read from. */
export function source({ resource, view }: Selection, dialect: Dialect): RawBuilder<unknown> {
  return view.index === undefined ? sql.table(resource.table) : dialect.readBy(resource.table, view.index);
}

/** Finds a selection's rows by indexes of its conditions. @param ranges `test` if other conditions find fewer rows than the ranges do */
export function seekCondition(selection: Selection, dialect: Dialect, ranges: "seek" | "test" = "seek"): Bool {
  const { resource, view, rootRows } = selection;
  const found = [...view.conditions.map((condition) => condition.seek), ...live(resource)];
  if (view.isWithinRanges) return and(found);
  const isInRanges = ranges === "seek" ? seekWithin(view.ranges, resource.table, dialect) : within(view.ranges, sql.ref("uid"), dialect);
  return and([or([isInRanges, ...(rootRows === undefined ? [] : [rootRows.condition])]), ...found]);
}

/** Spelled as in the indexes that leave deleted rows out. */
export function live({ hasDeleteTime }: Pick<Resource, "hasDeleteTime">): Bool[] {
  return hasDeleteTime ? [sql<boolean>`delete_time is null`] : [];
}

/** Tests rows within a selection's ranges, after its cursor, during a scan along the index of its order. */
export function scanCondition(selection: Selection, dialect: Dialect): Bool {
  const { resource, view, order } = selection;
  const tests = [...view.conditions.map((condition) => condition.test), ...live(resource)];
  const first = view.ranges.at(0);
  const last = view.ranges.at(-1);
  const inRange = within(view.ranges, dialect.unindexed("uid"), dialect);
  if (order.column !== "uid" || first === undefined || last === undefined) return and([inRange, ...tests, ...afterCursor(selection)]);
  return and([...uidBounds(first.lower, last.upper, selection), ...(first === last ? [] : [inRange]), ...tests]);
}

/**
 * One stretch of the index of uids that holds all ranges. SQLite seeks by the first bound that it finds on a side, so the nearest bound
 * must be the only one.
 */
function uidBounds(lower: string, upper: string, { after, order }: Selection): Bool[] {
  const from = sql<boolean>`uid >= ${lower}`;
  const to = sql<boolean>`uid < ${upper}`;
  if (after === undefined) return [from, to];
  if (order.descending) return [from, after.uid < upper ? sql<boolean>`uid < ${after.uid}` : to];
  return [after.uid < lower ? from : sql<boolean>`uid > ${after.uid}`, to];
}

/**
 * The selection of the same scanned rows, with its cursor as a bound of its range. Uids contain no character below `/`.
 * @returns undefined if the cursor is outside of the range
 */
export function withCursorInRange(selection: Selection): Selection | undefined {
  const { view, after, order } = selection;
  const [range] = view.ranges;
  if (order.column !== "uid" || after === undefined || range === undefined) return selection;
  if (after.uid < range.lower || after.uid >= range.upper) return undefined;
  const rest = order.descending ? { lower: range.lower, upper: after.uid } : { lower: `${after.uid}!`, upper: range.upper };
  return { ...selection, after: undefined, rootAfter: after, view: { ...view, ranges: [rest] } };
}

/** A selection's rows in root outside of its ranges, after its cursor. They are few, and can be anywhere in the order. */
export function rootCondition(selection: Selection): Bool | undefined {
  const { view, rootRows, order, after, rootAfter = after } = selection;
  if (rootRows === undefined) return undefined;
  const tests = view.conditions.map((condition) => condition.test);
  return and([rootRows.condition, ...tests, ...afterCursor({ order, after: rootAfter })]);
}

/** Rows with equal keys are in ascending order of the uid. The first condition alone lets an index seek. @param column with the key */
export function afterCursor({ after, order }: Pick<Selection, "after" | "order">, column: string = order.column): Bool[] {
  if (after === undefined) return [];
  const key = sql.ref(column);
  const first = order.descending ? sql<boolean>`${key} <= ${after.key}` : sql<boolean>`${key} >= ${after.key}`;
  return [first, sql<boolean>`(${key} <> ${after.key} or uid > ${after.uid})`];
}

/** Rows of a table with uids whose `column`, which also holds uids, is in one of the ranges. */
export function inRanges(ranges: readonly UidRange[], table: string, column: string, dialect: Dialect): Bool {
  return ranges.length <= MANY_RANGES ? inSome(ranges, sql.ref(column)) : joined(ranges, table, column, dialect);
}

/** The capabilities of a List: its rows are those below the groups where the caller holds them. */
export function listCapabilities({ operation: { access, name } }: Call): bigint {
  if (!("capabilities" in access)) throw new Error(`${name}: a list must need capabilities`);
  return access.capabilities;
}

/** Tests one uid after the other. */
export function within(ranges: readonly UidRange[], uid: RawBuilder<unknown>, dialect: Dialect): Bool {
  if (ranges.length <= MANY_RANGES) return inSome(ranges, uid);
  return sql<boolean>`exists (select 1 from ${listed(ranges, dialect)} as scope where ${inScope(uid)})`;
}

/** Finds the rows of the ranges by the index of the uid. */
function seekWithin(ranges: readonly UidRange[], table: string, dialect: Dialect): Bool {
  return ranges.length <= MANY_RANGES ? inSome(ranges, sql.ref("uid")) : joined(ranges, table, "uid", dialect);
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
