/**
 * Lists of users and groups: filter, order, page. What the database can answer by itself costs what its page costs, however large the directory; what has to
 * be looked through is bounded.
 */
import { setImmediate } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import type { ConcurrencyLimit } from "../jobs/limit.ts";
import { type AttributePath, findAttributePath, valuesAt } from "./attribute-path.ts";
import { comparedAttribute, type Filter } from "./filter.ts";
import { columnOf, conditionFrom } from "./filter-sql.ts";
import type { Column, Kind } from "./kind.ts";
import { isMatch } from "./match.ts";
import { COLUMNS, type Row, resourceFrom } from "./resource.ts";
import type { Json } from "./schema.ts";
import { badRequest } from "./scim-error.ts";

export interface ListQuery {
  readonly filter: Filter | undefined;
  /** Name of an attribute. */
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
  /** How many to pass over. */
  readonly skip: number;
  readonly count: number;
}

export interface Page {
  readonly total: number;
  readonly rows: readonly Row[];
}

/** How many resources one request may have looked through one by one. */
const MAX_SCANNED = 20_000;
const SCAN_STEP = 200;
const ORDER: Column = { name: "create_time", holds: "time", isNullable: false };

type Bool = RawBuilder<boolean>;

export async function listRows(db: ReadDb, kind: Kind, idpUid: string, query: ListQuery, scans: ConcurrencyLimit): Promise<Page> {
  const condition = query.filter === undefined ? { where: sql<boolean>`1 = 1`, rest: undefined } : conditionFrom(query.filter, kind);
  const where = sql<boolean>`idp_uid = ${idpUid} and ${kind.isVisible} and ${condition.where}`;
  const sortPath = sortPathOf(kind, query.sortBy);
  const column = sortPath === undefined ? ORDER : columnOf(sortPath, kind);
  if (condition.rest === undefined && column !== undefined) return answerBySql(db, kind, where, column, query);
  return scans.run(() => answerByScan(db, kind, where, sortPath, { ...query, filter: condition.rest }));
}

/** @throws ScimError invalidValue */
function sortPathOf({ type, link }: Kind, sortBy: string | undefined): AttributePath | undefined {
  if (sortBy === undefined) return undefined;
  const path = findAttributePath(type, sortBy);
  if (path === undefined || path.attribute.isSecret || path.attribute.name === link.attribute)
    throw badRequest("invalidValue", `sortBy: ${JSON.stringify(sortBy.slice(0, 100))} is no attribute to sort by`);
  return path;
}

async function answerBySql(db: ReadDb, kind: Kind, where: Bool, column: Column, { isDescending, skip, count }: ListQuery): Promise<Page> {
  const counted = await sql<{ total: number | string }>`select count(*) as total from ${sql.table(kind.table)} where ${where}`.execute(db);
  const total = Number(counted.rows[0]?.total);
  if (skip >= total || count === 0) return { total, rows: [] };
  const direction = sql.raw(isDescending ? "desc" : "asc");
  const ref = sql.ref(column.name);
  // What has no value is last, and first from the other end (RFC 7644 §3.4.2.3).
  const missing = column.isNullable ? sql`${ref} is null ${direction}, ` : sql``;
  const order = sql`${missing}${ref} ${direction}, id ${direction}`;
  const { rows } = await sql<Row>`${selected(kind)} where ${where} order by ${order} limit ${count} offset ${skip}`.execute(db);
  return { total, rows };
}

function selected({ table }: Kind): RawBuilder<unknown> {
  return sql`select ${sql.join(COLUMNS.map((name) => sql.ref(name)))} from ${sql.table(table)}`;
}

interface Found {
  readonly id: string;
  /** Undefined where it has no value to sort by. */
  readonly key: string | undefined;
}

async function answerByScan(db: ReadDb, kind: Kind, where: Bool, sortPath: AttributePath | undefined, query: ListQuery): Promise<Page> {
  const found: Found[] = [];
  let scanned = 0;
  for await (const row of eachRow(db, kind, where)) {
    if (++scanned > MAX_SCANNED)
      throw badRequest(
        "tooMany",
        `more than ${MAX_SCANNED} would have to be looked through: search or sort by ${[...kind.columns.keys()].join(", ")}`,
      );
    const resource = resourceFrom(kind, row, "");
    if (query.filter !== undefined && !isMatch(query.filter, resource)) continue;
    found.push({ id: row.id, key: sortPath && sortKey(resource, sortPath) });
  }
  if (sortPath !== undefined) found.sort(compareKeys);
  if (query.isDescending) found.reverse();
  const page = found.slice(query.skip, query.skip + query.count).map(({ id }) => id);
  return { total: found.length, rows: await rowsOf(db, kind, page) };
}

/** Of several values the primary one counts, or the first; case counts where it does for the attribute. */
function sortKey(resource: Json, path: AttributePath): string | undefined {
  const values = valuesAt(resource, { ...path, sub: undefined }, false);
  const primary = values.find((value) => (value as Json).primary === true) ?? values[0];
  const [key] = valuesAt({ [path.attribute.name]: primary }, { ...path, extension: undefined }, true);
  if (key === undefined) return undefined;
  return comparedAttribute(path).caseExact ? String(key) : String(key).toLowerCase();
}

/** What has no value is last. */
function compareKeys({ key: a }: Found, { key: b }: Found): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** In the usual order, in steps: nobody else has to wait for all of it. */
async function* eachRow(db: ReadDb, kind: Kind, where: Bool): AsyncGenerator<Row> {
  let after = sql<boolean>`1 = 1`;
  for (;;) {
    const { rows } = await sql<Row>`${selected(kind)} where ${where} and ${after} order by create_time, id limit ${SCAN_STEP}`.execute(db);
    yield* rows;
    // An embedded database answers without giving way to anybody.
    await setImmediate();
    const last = rows.at(-1);
    if (last === undefined || rows.length < SCAN_STEP) return;
    after = sql<boolean>`(create_time, id) > (${last.create_time}, ${last.id})`;
  }
}

/** In the order of the ids. */
async function rowsOf(db: ReadDb, kind: Kind, ids: readonly string[]): Promise<Row[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Row>`${selected(kind)} where id in (select v.value from ${db.dialect.valuesOf(ids)} as v)`.execute(db);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
