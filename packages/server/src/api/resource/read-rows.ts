/**
 * Reads the rows of one page. There are two plans. Few matching rows are found by the indexes of the conditions and sorted. Many are soon
 * found by a scan along the index of the order. Bodies are read last, and large ones only if they fit into the page.
 */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import { countOf } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { afterCursor, and, live, rootCondition, scanCondition, seekCondition, source } from "./conditions.ts";
import type { RowCount } from "./count-rows.ts";
import { type CutPage, cutPage } from "./page-bytes.ts";
import type { Selection } from "./selection.ts";

export interface Row {
  readonly uid: string;
  /** The row's value of the order's column. */
  readonly key: string;
  readonly body: string;
}

/** A row whose body is null if it is large. */
export interface FoundRow extends Omit<Row, "body"> {
  readonly body: string | null;
  readonly bytes: number;
}

/** Bytes of a body that is read with its row, before the size of the page is known. All rows of a page then have less than 1 MiB. */
const SMALL_BODY = 4 * 1024;

/** The page is shorter than the selection's limit if its bodies are large. */
export async function readRows(selection: Selection, count: RowCount, db: ReadDb): Promise<CutPage<Row>> {
  const page = await completePage(await findRows(selection, count, db), selection, db);
  // A row was deleted in between.
  return page ?? readRows(selection, count, db);
}

/**
 * Cuts the page to size and reads its large bodies.
 * @param found the rows of the page, and one more if there is a next page
 * @returns undefined if a row was deleted in between
 */
export async function completePage(
  found: readonly FoundRow[],
  { limit, resource }: Selection,
  db: ReadDb,
): Promise<CutPage<Row> | undefined> {
  const { rows, hasMore } = cutPage(found, limit, ({ bytes }) => bytes);
  const bodies = await readLargeBodies(rows, resource.table, db);
  const complete = rows.flatMap(({ uid, key, body }) => {
    const text = body ?? bodies.get(uid);
    return text === undefined ? [] : [{ uid, key, body: text }];
  });
  return complete.length < rows.length ? undefined : { rows: complete, hasMore };
}

async function readLargeBodies(rows: readonly FoundRow[], table: string, db: ReadDb): Promise<ReadonlyMap<string, string>> {
  const large = rows.filter(({ body }) => body === null).map(({ uid }) => uid);
  if (large.length === 0) return new Map();
  const wanted = sql`select wanted.value from ${db.dialect.valuesOf(large)} as wanted`;
  const read = await sql<{ uid: string; body: string }>`select uid, body from ${sql.table(table)} where uid in (${wanted})`.execute(db);
  return new Map(read.rows.map(({ uid, body }) => [uid, body]));
}

/** Up to `limit + 1` rows: one row more than the page shows that there is a next page. */
async function findRows(selection: Selection, count: RowCount, db: ReadDb): Promise<FoundRow[]> {
  const { total } = count;
  if (total === 0) return [];
  const { skip, limit, after } = selection;
  // Without a cursor, a far position is read from the nearer end.
  const fromEnd = after === undefined && total !== undefined && skip > total / 2;
  if (!fromEnd) return query(selection, { ...count, offset: skip, limit: limit + 1, backward: false }, db);
  const end = Math.min(skip + limit + 1, total);
  const rows = end <= skip ? [] : await query(selection, { ...count, offset: total - end, limit: end - skip, backward: true }, db);
  return rows.reverse();
}

export interface Window extends RowCount {
  readonly offset: number;
  readonly limit: number;
  /** Read from the end of the order. */
  readonly backward: boolean;
}

/** From this offset on, skipped rows must not cost a read of their bodies. */
const FAR = 200;

async function query(selection: Selection, window: Window, db: ReadDb): Promise<FoundRow[]> {
  const isSorted = await isCheaperToSort(selection, window, db);
  const skipped = isSorted ? undefined : await skipUntested(selection, window, db);
  return skipped ?? (await pageQuery(selection, window, isSorted, db.dialect).execute(db)).rows;
}

/**
 * Skips many rows by the index of the order without a test for each, because the table has no other rows than the view.
 * @returns undefined if it has
 */
async function skipUntested(selection: Selection, window: Window, db: ReadDb): Promise<FoundRow[] | undefined> {
  const { resource, view, rootRows, order } = selection;
  const isTested = view.conditions.length > 0 || rootRows !== undefined || order.column === "uid";
  if (isTested || window.offset < FAR || window.total !== (await countOf(db, resource.table, "/")).below) return undefined;
  const where = and([...live(resource), ...afterCursor(selection)]);
  const page = sql`${select(selection, sql.table(resource.table), where, false)} ${cut(selection, window, window.offset, window.limit)}`;
  const { rows } = await withBodies(page, selection, window).execute(db);
  // Another organization's row may be there since the count.
  const isInView = (uid: string) => view.ranges.some(({ lower, upper }) => uid >= lower && uid < upper);
  return rows.every(({ uid }) => isInView(uid)) ? rows : undefined;
}

/** The query of a page by one of the two plans. */
export function pageQuery(selection: Selection, window: Window, isSorted: boolean, dialect: Dialect): RawBuilder<FoundRow> {
  if (isSorted) return withBodies(sortedPage(selection, window, dialect), selection, window);
  // A covering index has no bodies.
  const isNear = window.offset < FAR && selection.view.index === undefined && selection.view.isCovered !== true;
  const page = scannedPage(selection, window, isNear, dialect);
  return isNear ? sql<FoundRow>`${page}` : withBodies(page, selection, window);
}

function withBodies(page: Sql, selection: Selection, window: Window): RawBuilder<FoundRow> {
  return sql`with page as materialized (${page})
    select page.uid, page.key, ${bodyOf("t.body")} from page join ${sql.table(selection.resource.table)} as t on t.uid = page.uid
    order by page.key ${direction(selection, window)}, page.uid ${ties(window)}`;
}

/** Materialized, so that the planner cannot choose a scan along the order's index instead. */
function sortedPage(selection: Selection, window: Window, dialect: Dialect): Sql {
  const found = select(selection, source(selection, dialect), and([seekCondition(selection, dialect), ...afterCursor(selection)]), false);
  return sql`with found as materialized (${found}) select uid, key from found ${cut(selection, window, window.offset, window.limit)}`;
}

/**
 * Merges rows in root into the scanned rows. At most all of them are among the first `offset` rows, so the rest of the offset can skip
 * scanned rows only.
 */
function scannedPage(selection: Selection, window: Window, body: boolean, dialect: Dialect): Sql {
  const inRoot = rootCondition(selection);
  // In any order but the uid's, the scan runs along the index of that order.
  const table = sql.table(selection.resource.table);
  const scanned = selection.order.column === "uid" ? source(selection, dialect) : table;
  const within = select(selection, scanned, scanCondition(selection, dialect), body);
  if (inRoot === undefined) return sql`${within} ${cut(selection, window, window.offset, window.limit)}`;
  const rowsInRoot = select(selection, table, inRoot, body);
  if (window.offset === 0 && dialect.mergesInOrder)
    return sql`${within} union all ${rowsInRoot} ${cut(selection, window, 0, window.limit)}`;
  const merged = Math.min(window.rootRows, window.offset);
  // The limit may be a placeholder where nothing is skipped.
  const limit = merged === 0 ? window.limit : window.limit + merged;
  const found = sql`${within} ${cut(selection, window, window.offset - merged, limit)}`;
  return sql`with found as materialized (${found})
    select * from found union all ${rowsInRoot} ${cut(selection, window, merged, window.limit)}`;
}

type Sql = RawBuilder<unknown>;

export function select({ order }: Selection, from: Sql, where: RawBuilder<boolean>, body: boolean): Sql {
  return sql`select uid, ${sql.ref(order.column)} as key${body ? sql`, ${bodyOf("body")}` : sql``} from ${from} where ${where}`;
}

/** The body if it is small, and its size in any case, which both stores know without reading a large body. */
export function bodyOf(column: string): Sql {
  const body = sql.ref(column);
  return sql`case when octet_length(${body}) <= ${sql.lit(SMALL_BODY)} then ${body} end as body, octet_length(${body}) as bytes`;
}

export function cut(selection: Selection, window: Direction, offset: number, limit: number): Sql {
  const rows = COMMON_LIMITS.has(limit) ? sql.lit(limit) : limit;
  const range = offset === 0 ? sql`limit ${rows}` : sql`limit ${rows} offset ${offset}`;
  return sql`order by key ${direction(selection, window)}, uid ${ties(window)} ${range}`;
}

/** Common sizes of pages, and one row more. SQLite takes twice as long to read 50 rows if the limit is a parameter. */
export const COMMON_LIMITS: ReadonlySet<number> = new Set([11, 21, 51, 101, 201]);

type Direction = Pick<Window, "backward">;

function direction({ order }: Selection, { backward }: Direction): Sql {
  return order.descending !== backward ? sql`desc` : sql`asc`;
}

function ties({ backward }: Direction): Sql {
  return backward ? sql`desc` : sql`asc`;
}

/** Sorting this many rows takes longer than scanning past a hundred times as many unwanted rows. */
const TOO_MANY_TO_SORT = 100_000;

/**
 * Sorting costs all matching rows. Scanning costs the rows passed until the page is full: the rarer the matches, the more rows. In uid
 * order within one range the index of the uid serves both.
 */
async function isCheaperToSort(selection: Selection, window: Window, db: ReadDb): Promise<boolean> {
  if (!mayBeSorted(selection, window)) return false;
  return isSortCheaper(window, (await countOf(db, selection.resource.table, "/")).below);
}

function mayBeSorted({ order, view, isIndexed }: Selection, { total, effort = total }: Window): boolean {
  if (order.column === "uid" && view.ranges.length === 1 && view.conditions.length === 0) return false;
  return !isIndexed && total !== undefined && effort !== undefined && effort <= TOO_MANY_TO_SORT;
}

/** @param all rows of the table */
function isSortCheaper({ total = 0, effort = total, offset, limit }: Window, all: number): boolean {
  return effort < ((offset + limit) * all) / total;
}

/** Like isCheaperToSort for the first `limit` rows, where the sizes are known. */
export function isFirstPageSorted(selection: Selection, total: number, all: number): boolean {
  const window: Window = { total, rootRows: 0, offset: 0, limit: selection.limit + 1, backward: false };
  return mayBeSorted(selection, window) && isSortCheaper(window, all);
}
