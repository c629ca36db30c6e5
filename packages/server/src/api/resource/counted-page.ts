/**
 * Reads the first rows of a list and their total in one prepared statement, for the lists that clients read most: whole groups
 * whose rows are counted. The plan follows the sizes that an earlier call found, because both plans find the same rows.
 */
import { type RawBuilder, sql } from "kysely";
import { PAGE } from "../../db/lookup.ts";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import type { UidRange } from "../../lib/uid.ts";
import { JoinedBodies, SEPARATOR } from "./bodies.ts";
import { withCursorInRange } from "./conditions.ts";
import { rootCount } from "./count-rows.ts";
import { nameOfBody, uidOfBody } from "./fields-of-body.ts";
import { type CountValues, countedTotal, countValuesOf, groupsThemselves, isSortedBySizes, type Moment } from "./plan-sizes.ts";
import { COMMON_LIMITS, pageQuery } from "./read-rows.ts";
import type { Selection } from "./selection.ts";
import { isSeparable } from "./separable.ts";

/** Rows of a page, in order. */
export interface CountedPage {
  readonly bodies: JoinedBodies;
  readonly hasMore: boolean;
  /** Uid of the last row, and its value of the order's column. */
  last(): { readonly key: string; readonly uid: string };
  readonly total: number;
  /** Whether the bodies are sent as they are stored. */
  readonly isAsStored: boolean;
}

/** The uid of each row of the page, for an aggregate in a test. */
export const LISTED_UID = sql.ref("listed.uid");

/** Asks the database, with the statement of the page, whether rows are sent as they are stored. */
export interface StoredTest {
  readonly range: UidRange;
  /** The SQL of the test, which is the same for all ranges. */
  build(range: UidRange): RawBuilder<boolean>;
}

/**
 * @param selection of which `isCountedPage` is true
 * @param asStored whether the bodies are sent as they are stored; there is one test for each table
 * @returns undefined if the page needs more than one statement
 */
export async function readCountedPage(
  selection: Selection,
  asStored: boolean | StoredTest,
  call: Moment,
): Promise<CountedPage | undefined> {
  const { db } = call;
  const isSorted = await isSortedBySizes(selection, call);
  const form = { selection, isSorted, asStored };
  if (!isSorted && selection.after !== undefined && withCursorInRange(selection) === undefined) return undefined;
  const row = await pageStatement(form).first(db, valuesOf(form));
  if (row === undefined) return undefined;
  const total = row.total + row.root + groupsThemselves(selection);
  // Large bodies count towards the bytes of the page.
  if (row.small < row.found) return undefined;
  const { bodies: text, bytes, found: size } = row;
  const { bodies, hasMore } = new JoinedBodies({ text: text ?? "", bytes: bytes ?? 0, size }).cut(selection.limit);
  const last = () => lastOf(bodies, row.keys, selection.order.column);
  return { bodies, hasMore, last, total, isAsStored: row.as_stored === 1 };
}

/** Read a column from the body, so that the statement need not return the keys of all rows for that of the last one. */
const IN_BODY: ReadonlyMap<string, (body: string) => string> = new Map([
  ["uid", uidOfBody],
  ["name", nameOfBody],
]);

/** @param keys as a JSON array; null if the order's column is in the body */
function lastOf(bodies: JoinedBodies, keys: string | null, column: string): ReturnType<CountedPage["last"]> {
  const body = bodies.last ?? "{}";
  const key = IN_BODY.get(column)?.(body) ?? JSON.parse(keys ?? "[]")[bodies.size - 1];
  return { key, uid: uidOfBody(body) };
}

/** Whether a page and its total may be read together. */
export function isCountedPage({ resource, view, rootRows, skip }: Selection): boolean {
  return (
    view.counted !== undefined &&
    view.counted.groups.length === 1 &&
    view.ranges.length === 1 &&
    view.index === undefined &&
    view.conditions.every(({ template }) => template !== undefined) &&
    (rootRows === undefined || rootRows.template !== undefined) &&
    skip === 0 &&
    resource.schema.fields[0]?.name === "uid" &&
    isSeparable(resource.schema)
  );
}

/** Forms are few: resources, orders, common sizes of pages, conditions of their lists. */
const MAX_FORMS = 500;

interface PageForm {
  readonly selection: Selection;
  readonly isSorted: boolean;
  readonly asStored: boolean | StoredTest;
}

/** The values of a form, by the names of its placeholders. */
interface PageValues extends CountValues {
  readonly lower: string;
  readonly upper: string;
  readonly afterKey: string;
  readonly afterUid: string;
  /** The range of the test whether rows are sent as they are stored. */
  readonly testedLower: string;
  readonly testedUpper: string;
  /** Rows to find: those of the page and one more. */
  readonly limit: number;
  /** The value of the condition at this place. */
  readonly [condition: `condition${number}`]: string;
  /** The value of the condition on rows in root with this name. */
  readonly [root: `root-${string}`]: string;
}

interface PageRow {
  /** By the maintained counts. */
  readonly total: number;
  /** Visible rows in root. */
  readonly root: number;
  readonly bodies: string | null;
  /** Length of `bodies` as UTF-8. */
  readonly bytes: number | null;
  readonly found: number;
  /** Rows with small bodies. */
  readonly small: number;
  /** Values of the order's column, as a JSON array; null if the column is in the body. */
  readonly keys: string | null;
  /** 1 if the bodies are sent as they are stored. */
  readonly as_stored: number;
}

function nameOfForm({ selection, isSorted, asStored }: PageForm): string {
  const { resource, view, order, after, rootRows } = selection;
  const conditions = view.conditions.map(({ template }) => template?.name);
  const limit = COMMON_LIMITS.has(selection.limit + 1) ? selection.limit : "any";
  const stored = typeof asStored === "boolean" ? asStored : "tested";
  const flags = [
    limit,
    isSorted,
    stored,
    order.descending,
    after === undefined,
    view.isWithinRanges,
    view.counted?.direct,
    rootRows?.template?.name,
  ];
  return [resource.table, resource.hasDeleteTime, order.column, ...flags, ...conditions].join(" ");
}

/** Rows keep their order in the aggregates, because the subquery is sorted and limited. */
const pageStatement = prepareEach<PageForm, PageValues, PageRow>(
  (form) => (db, param) => {
    const selection = withPlaceholders(form, param);
    const limit = COMMON_LIMITS.has(selection.limit + 1) ? selection.limit + 1 : param("limit");
    const window = { total: undefined, rootRows: 0, offset: 0, limit, backward: false };
    const page = pageQuery(selection, window, form.isSorted, db.dialect);
    const listed = form.isSorted ? sql`${page} limit ${limit}` : page;
    const bigint = (count: unknown) => sql`cast(${count} as bigint)`;
    const { dialect } = db;
    const body = sql.ref("listed.body");
    const bodies = sql<string>`string_agg(${body}, ${sql.lit(SEPARATOR)})`;
    const keys = IN_BODY.has(selection.order.column) ? sql.lit(null) : dialect.jsonOfAll(sql.ref("listed.key"));
    return sql<PageRow>`select ${bodies} as bodies, ${dialect.utf8Bytes(bodies)} as bytes, ${keys} as keys,
      ${bigint(sql`count(*)`)} as found, ${bigint(sql`count(listed.body)`)} as small, ${countedTotal(selection, param)} as total,
      ${bigint(rootCount(selection) ?? sql.lit(0))} as root,
      ${storedFlag(form, param)} as as_stored
      from (${listed}) as listed`.compile(db);
  },
  nameOfForm,
  // Sorting takes longer than a scan along an index, and so does counting all people of an organization.
  { capacity: MAX_FORMS, weight: ({ isSorted, selection }) => (isSorted || selection.rootRows !== undefined ? undefined : PAGE) },
);

function storedFlag({ asStored }: PageForm, param: Placeholders<PageValues>): RawBuilder<number> {
  if (typeof asStored === "boolean") return sql.lit(asStored ? 1 : 0);
  return sql`case when ${asStored.build({ lower: param("testedLower"), upper: param("testedUpper") })} then 1 else 0 end`;
}

/** The selection with placeholders in place of its values. */
function withPlaceholders({ selection, isSorted }: PageForm, param: Placeholders<PageValues>): Selection {
  const { view, after, order, rootRows } = selection;
  const conditions = view.conditions.map(({ template }, i) => template!.build(param(`condition${i}`)));
  const isInRange = !isSorted && order.column === "uid";
  const cursor = after && { key: param("afterKey"), uid: param("afterUid"), skipped: 0 };
  return {
    ...selection,
    view: { ...view, conditions, ranges: [{ lower: param("lower"), upper: param("upper") }] },
    after: isInRange ? undefined : cursor,
    rootAfter: cursor,
    rootRows: rootRows?.template && { condition: rootRows.template.build((name) => param(`root-${name}`)) },
  };
}

function valuesOf({ selection, isSorted, asStored }: PageForm): PageValues {
  const moved = isSorted ? selection : (withCursorInRange(selection) ?? selection);
  const { view, limit } = moved;
  const { after, rootRows } = selection;
  const { lower = "", upper = "" } = view.ranges[0] ?? {};
  const conditions = view.conditions.map(({ template }, i) => [`condition${i}`, template?.value ?? ""]);
  const root = Object.entries(rootRows?.template?.values ?? {}).map(([name, value]) => [`root-${name}`, value]);
  const cursor = { afterKey: after?.key ?? "", afterUid: after?.uid ?? "" };
  const { lower: testedLower, upper: testedUpper } = typeof asStored === "boolean" ? NOT_TESTED : asStored.range;
  const ranges = { lower, upper, testedLower, testedUpper };
  return { ...Object.fromEntries([...conditions, ...root]), ...countValuesOf(selection), ...cursor, ...ranges, limit: limit + 1 };
}

const NOT_TESTED: UidRange = { lower: "", upper: "" };
