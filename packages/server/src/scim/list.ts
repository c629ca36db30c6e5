/**
 * Lists users and groups: filters, sorts and pages. A list that SQL can answer costs what its page costs, however large
 * the directory. All other lists scan rows, up to a limit.
 */
import { setImmediate } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import type { Bool } from "../db/dialect.ts";
import type { ReadDb } from "../db/store.ts";
import type { FairLimit } from "../jobs/limit.ts";
import { compareTexts } from "../lib/version-order/numeral.ts";
import { type AttributePath, findAttributePath, valuesAt } from "./attribute-path.ts";
import { comparedAttribute, type Filter } from "./filter.ts";
import { columnOf, compileFilter } from "./filter-sql.ts";
import { matchesFilter } from "./match.ts";
import { COLUMNS, resourceFromRow, type ScimRow } from "./resource.ts";
import type { Json } from "./schema.ts";
import { badRequest } from "./scim-error.ts";
import type { Column, ResourceStorage } from "./storage.ts";

export interface ListQuery {
  readonly filter: Filter | undefined;
  /** Name of an attribute; undefined for the default order, by creation time. */
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
  /** Matching rows before the page. */
  readonly skip: number;
  readonly count: number;
}

export interface ListPage {
  readonly total: number;
  readonly rows: readonly ScimRow[];
}

/** Rows that one request may scan. */
const MAX_SCANNED_ROWS = 20_000;
const MAX_ROWS_PER_STEP = 1_000;
const MIN_ROWS_PER_STEP = 10;
/** Time that a scan may take before others run. Large resources and long filters make one row cost milliseconds. */
const MAX_TURN_MS = 10;
const DEFAULT_ORDER: Column = { name: "create_time", holds: "time", isNullable: false };

const ANYTHING = sql<boolean>`1 = 1`;

/** Where to list, and the limit on concurrent scans. */
export interface ListSource {
  readonly db: ReadDb;
  readonly storage: ResourceStorage;
  readonly idpUid: string;
  /** URL of the provider's SCIM, without a trailing slash. */
  readonly base: string;
  readonly scans: FairLimit;
}

/** The rows that a list is about. */
interface Selection {
  readonly db: ReadDb;
  readonly storage: ResourceStorage;
  readonly base: string;
  readonly where: Bool;
  /** A condition that is slow to check, for scans alone. */
  readonly hint: Bool;
}

export async function listRows({ db, storage, idpUid, base, scans }: ListSource, query: ListQuery): Promise<ListPage> {
  const condition =
    query.filter === undefined ? { where: ANYTHING, hint: ANYTHING, remainder: undefined } : compileFilter(query.filter, storage);
  const where = sql<boolean>`idp_uid = ${idpUid} and ${storage.isVisible} and ${condition.where}`;
  const { hint } = condition;
  const sortPath = parseSortPath(storage, query.sortBy);
  const column = sortPath === undefined ? DEFAULT_ORDER : columnOf(sortPath, storage);
  const selection = { db, storage, base, where, hint };
  if (condition.remainder === undefined && column !== undefined) return listBySql(selection, column, query);
  using _slot = scans.take(idpUid);
  return await listByScan(selection, sortPath, { ...query, filter: condition.remainder });
}

/** @throws ScimError invalidValue */
function parseSortPath({ type, link }: ResourceStorage, sortBy: string | undefined): AttributePath | undefined {
  if (sortBy === undefined) return undefined;
  const path = findAttributePath(type, sortBy);
  if (path === undefined || path.attribute.isSecret || path.attribute.name === link.attribute)
    throw badRequest("invalidValue", `sortBy: ${JSON.stringify(sortBy.slice(0, 100))} is not an attribute to sort by`);
  return path;
}

async function listBySql({ db, storage, where }: Selection, column: Column, { isDescending, skip, count }: ListQuery): Promise<ListPage> {
  const counted = await sql<{ total: number | string }>`select count(*) as total from ${sql.table(storage.table)} where ${where}`.execute(
    db,
  );
  const total = Number(counted.rows[0]?.total);
  if (skip >= total || count === 0) return { total, rows: [] };
  const direction = sql.raw(isDescending ? "desc" : "asc");
  const ref = sql.ref(column.name);
  // Rows without a value come last, or first in descending order (RFC 7644 §3.4.2.3).
  const missing = column.isNullable ? sql`${ref} is null ${direction}, ` : sql``;
  const order = sql`${missing}${ref} ${direction}, id ${direction}`;
  const { rows } = await sql<ScimRow>`${selectRows(storage)} where ${where} order by ${order} limit ${count} offset ${skip}`.execute(db);
  return { total, rows };
}

function selectRows({ table }: ResourceStorage): RawBuilder<unknown> {
  return sql`select ${sql.join(COLUMNS.map((name) => sql.ref(name)))} from ${sql.table(table)}`;
}

interface FoundRow {
  readonly id: string;
  /** Undefined if the row has no value to sort by. */
  readonly key: string | undefined;
}

async function listByScan(selection: Selection, sortPath: AttributePath | undefined, query: ListQuery): Promise<ListPage> {
  const { db, storage, base } = selection;
  const found: FoundRow[] = [];
  let scanned = 0;
  let begun = performance.now();
  for await (const row of scanRows(selection)) {
    if (performance.now() - begun > MAX_TURN_MS) begun = await nextTurn();
    if (++scanned > MAX_SCANNED_ROWS)
      throw badRequest(
        "tooMany",
        `more than ${MAX_SCANNED_ROWS} resources would have to be scanned: filter or sort by ${[...storage.columns.keys()].join(", ")}`,
      );
    const resource = resourceFromRow(storage, row, base);
    if (query.filter !== undefined && !matchesFilter(query.filter, resource)) continue;
    found.push({ id: row.id, key: sortPath && sortKey(resource, sortPath) });
  }
  if (sortPath !== undefined) found.sort(compareKeys);
  if (query.isDescending) found.reverse();
  const page = found.slice(query.skip, query.skip + query.count).map(({ id }) => id);
  return { total: found.length, rows: await findRows(db, storage, page) };
}

/** Lets others run. @returns the time, in milliseconds */
async function nextTurn(): Promise<number> {
  await setImmediate();
  return performance.now();
}

/** Uses the primary value, or else the first. Compares with case only if the attribute does. */
function sortKey(resource: Json, path: AttributePath): string | undefined {
  const values = valuesAt(resource, { ...path, sub: undefined }, false);
  const primary = values.find((value) => (value as Json).primary === true) ?? values[0];
  const [key] = valuesAt({ [path.attribute.name]: primary }, { ...path, extension: undefined }, true);
  if (key === undefined) return undefined;
  return comparedAttribute(path).caseExact ? String(key) : String(key).toLowerCase();
}

/** Values that are missing come last. */
function compareKeys({ key: a }: FoundRow, { key: b }: FoundRow): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  return compareTexts(a, b);
}

/** Reads in the default order, in steps that take little time, so that other work runs in between: SQLite blocks the event loop. */
async function* scanRows({ db, storage, where, hint }: Selection): AsyncGenerator<ScimRow> {
  const columns = sql.join(COLUMNS.filter((name) => name !== "body").map((name) => sql.ref(name)));
  const select = sql`select ${columns}, case when ${hint} then body end as body from ${sql.table(storage.table)}`;
  let after = ANYTHING;
  let limit = MIN_ROWS_PER_STEP;
  for (;;) {
    const begun = performance.now();
    const step = sql<ScannedRow>`${select} where ${where} and ${after} order by create_time, id limit ${limit}`;
    const { rows } = await step.execute(db);
    const isShort = performance.now() - begun < MAX_TURN_MS / 2;
    for (const row of rows) if (hasBody(row)) yield row;
    await setImmediate();
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = sql<boolean>`(create_time, id) > (${last.create_time}, ${last.id})`;
    limit = isShort ? Math.min(2 * limit, MAX_ROWS_PER_STEP) : Math.max(limit >> 1, MIN_ROWS_PER_STEP);
  }
}

/** The body is missing if the row cannot match. */
type ScannedRow = Omit<ScimRow, "body"> & { readonly body: string | null };

function hasBody(row: ScannedRow): row is ScimRow {
  return row.body !== null;
}

/** Returns the rows in the order of `ids`. */
async function findRows(db: ReadDb, storage: ResourceStorage, ids: readonly string[]): Promise<ScimRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<ScimRow>`${selectRows(storage)} where id in (select v.value from ${db.dialect.valuesOf(ids)} as v)`.execute(
    db,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
