/** SQL conditions for the rows that a caller may see and a request asks for. The only place that confines lists. */
import type { UIDPFilter } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { ancestry, isAtOrBelow, isInRoot, isUid, parentOf, rangeAtOrBelow, rangeBelow, type UidRange } from "../../lib/uid.ts";
import { MANY_RANGES } from "./conditions.ts";
import type { Resource } from "./define.ts";

/** One condition in two forms: `seek` lets an index find its rows, `test` is evaluated on each row of a scan along another index. */
export interface Condition {
  readonly seek: RawBuilder<boolean>;
  readonly test: RawBuilder<boolean>;
  /** Set if statements with the condition can be prepared. */
  readonly template?: ConditionTemplate | undefined;
}

/** Builds conditions that differ in one value, or not at all. */
export interface ConditionTemplate {
  /** The same for all conditions of the template, and for no other conditions. */
  readonly name: string;
  /** The value of this condition; undefined if all conditions of the template are equal. */
  readonly value: string | undefined;
  build(value: string): Condition;
}

/** The part of the tree that a list reads. */
export interface View {
  /** Disjoint ranges of uids, in order. */
  readonly ranges: readonly UidRange[];
  /** All must hold in addition to the ranges. */
  readonly conditions: readonly Condition[];
  /** True if the conditions find no row outside of the ranges, so that the ranges need no check. */
  readonly isWithinRanges?: boolean;
  /** An index by uid that covers the conditions; SQLite reads the rows by it. */
  readonly index?: string;
  /** Whether the index of the order covers the conditions: a scan then reads bodies of the rows of the page only. */
  readonly isCovered?: boolean;
  /** Whether it can contain rows in root that no scope of the caller contains. */
  readonly includesRoot: boolean;
  /** Set if the view is exactly the rows of some groups, whose number is maintained. */
  readonly counted: Counted | undefined;
}

/** The rows below these groups, or with `direct` only their children; with `itself` also the groups themselves. */
interface Counted {
  readonly groups: readonly string[];
  readonly direct: boolean;
  readonly itself: boolean;
}

const NOTHING: View = { ranges: [], conditions: [same(sql<boolean>`1 = 0`)], includesRoot: false, counted: undefined };

/**
 * Intersects the caller's scopes with the request's hierarchy filter.
 * @param scopes topmost groups where the caller holds the list capability; a list of groups includes the scopes themselves
 */
export function viewOf(
  scopes: readonly string[],
  filter: UIDPFilter | undefined,
  { hasUidOfGroup }: Pick<Resource, "hasUidOfGroup">,
  dialect: Dialect,
): View {
  const all = {
    ranges: scopes.map(rangeAtOrBelow),
    conditions: [],
    includesRoot: true,
    counted: { groups: scopes, direct: false, itself: true },
  };
  if (filter === undefined) return all;
  const parts = [
    descendants(filter.descendantsOf, scopes, hasUidOfGroup),
    hasUidOfGroup ? oneOfGroup(filter.childrenOf, scopes) : children(filter.childrenOf, scopes, dialect),
    ancestors(filter.ancestorsOf, dialect),
    root(filter.inRoot, scopes),
    chosen(filter.ids, dialect),
  ];
  return parts.reduce<View>((view, part) => (part === undefined ? view : intersect(view, part)), all);
}

/** One field of the filter: its ranges replace wider ones (`undefined` keeps them), its conditions are added. */
interface Part extends Omit<View, "ranges"> {
  readonly ranges: readonly UidRange[] | undefined;
}

function descendants(of: string, scopes: readonly string[], hasUidOfGroup: boolean): Part | undefined {
  if (of === "") return undefined;
  if (!isUid(of)) return NOTHING;
  if (scopes.some((scope) => isAtOrBelow(of, scope))) {
    const range = hasUidOfGroup ? rangeAtOrBelow(of) : rangeBelow(of);
    return { ranges: [range], conditions: [], includesRoot: false, counted: { groups: [of], direct: false, itself: false } };
  }
  const below = scopes.filter((scope) => isAtOrBelow(scope, of));
  return {
    ranges: below.map(rangeAtOrBelow),
    conditions: [],
    includesRoot: false,
    counted: { groups: below, direct: false, itself: true },
  };
}

function children(of: string, scopes: readonly string[], dialect: Dialect): Part | undefined {
  if (of === "") return undefined;
  if (of === "/") return root(true, scopes);
  if (!isUid(of)) return NOTHING;
  if (scopes.some((scope) => isAtOrBelow(of, scope))) {
    return {
      ranges: [rangeBelow(of)],
      conditions: [childOf(of, dialect)],
      isWithinRanges: true,
      includesRoot: false,
      counted: { groups: [of], direct: true, itself: false },
    };
  }
  const below = scopes.filter((scope) => parentOf(scope) === of);
  return { ranges: below.map(rangeAtOrBelow), conditions: [childOf(of, dialect)], includesRoot: false, counted: undefined };
}

/** The only row of a group, which has the uid of the group. */
function oneOfGroup(of: string, scopes: readonly string[]): Part | undefined {
  if (of === "") return undefined;
  if (of === "/") return root(true, scopes);
  if (!isUid(of) || !scopes.some((scope) => isAtOrBelow(of, scope))) return NOTHING;
  const range = { lower: of, upper: `${of}/` };
  return { ranges: [range], conditions: [], includesRoot: false, counted: { groups: [of], direct: true, itself: false } };
}

function ancestors(of: string, dialect: Dialect): Part | undefined {
  if (of === "") return undefined;
  if (!isUid(of)) return NOTHING;
  return { ranges: undefined, conditions: [oneOf("uid", ancestry(of).slice(1), dialect)], includesRoot: true, counted: undefined };
}

/**
 * The only row in root within a scope has the scope's uid. Searching all rows in root would pass the people of the whole
 * server, but many ranges are not sought one by one.
 */
function root(inRoot: boolean, scopes: readonly string[]): Part | undefined {
  if (!inRoot) return undefined;
  const ranges = scopes.filter(isInRoot).map((scope) => ({ lower: scope, upper: `${scope}/` }));
  const seek = ranges.length > MANY_RANGES ? sql<boolean>`parent is null` : IS_IN_ROOT;
  return { ranges, conditions: [{ seek, test: IS_IN_ROOT }], includesRoot: true, counted: undefined };
}

function chosen(ids: readonly string[], dialect: Dialect): Part | undefined {
  if (ids.length === 0) return undefined;
  return { ranges: undefined, conditions: [oneOf("uid", ids.filter(isUid), dialect)], includesRoot: true, counted: undefined };
}

function oneOf(column: string, values: readonly string[], dialect: Dialect): Condition {
  return same(sql<boolean>`${sql.ref(column)} in (select chosen.value from ${dialect.valuesOf(values)} as chosen)`);
}

function same(condition: RawBuilder<boolean>): Condition {
  return { seek: condition, test: condition };
}

/** A condition on one column. Its test keeps the planner from using an index of this column in a scan along another index. */
export function onColumn(column: string, dialect: Dialect, build: (column: RawBuilder<unknown>) => RawBuilder<boolean>): Condition {
  return { seek: build(sql.ref(column)), test: build(dialect.unindexed(column)) };
}

/** Uids in root, and only they, have one segment. */
export const IS_IN_ROOT = sql<boolean>`length(uid) = 40`;

function childOf(uid: string, dialect: Dialect): Condition {
  const template = { name: "child", value: uid, build: (value: string) => childOf(value, dialect) };
  return { seek: sql<boolean>`parent = ${uid}`, test: dialect.isChildOf(uid), template };
}

/** Each part already respects the caller's scopes, so the first part replaces the whole view. */
function intersect(view: View, part: Part): View {
  if (isWhole(view)) return { ...part, ranges: part.ranges ?? view.ranges };
  return {
    ranges: part.ranges === undefined ? view.ranges : intersectRanges(view.ranges, part.ranges),
    conditions: [...view.conditions, ...part.conditions],
    includesRoot: view.includesRoot && part.includesRoot,
    counted: undefined,
  };
}

function isWhole(view: View): boolean {
  return view.conditions.length === 0 && view.includesRoot;
}

/** Uid ranges are either disjoint or one lies inside the other. */
function intersectRanges(a: readonly UidRange[], b: readonly UidRange[]): UidRange[] {
  const isInside = (inner: UidRange, outer: UidRange) => inner.lower >= outer.lower && inner.upper <= outer.upper;
  return a.flatMap((x) => b.flatMap((y) => (isInside(x, y) ? [x] : isInside(y, x) ? [y] : [])));
}
