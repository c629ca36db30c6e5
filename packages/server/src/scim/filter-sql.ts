/**
 * Compiles filters to SQL: a condition that all matching rows fulfil, and the part of the filter that the database
 * cannot check and that is applied to the rows it returns.
 */
import { sql } from "kysely";
import type { Bool } from "../db/dialect.ts";
import type { AttributePath } from "./attribute-path.ts";
import { comparedAttribute, type Filter } from "./filter.ts";
import { badRequest } from "./scim-error.ts";
import type { Column, ResourceStorage } from "./storage.ts";

export interface Condition {
  readonly where: Bool;
  /** A condition on the text of the body, which all matching rows fulfil too. It is slow to check. */
  readonly hint: Bool;
  /** The part to apply to the rows; undefined if the SQL condition is exact. */
  readonly remainder: Filter | undefined;
}

type Comparison = Extract<Filter, { kind: "compare" }>;

const ANYTHING = sql<boolean>`1 = 1`;
/** More searches for a part of a string would make one statement slow: the rows are searched instead, with pauses. */
const MAX_TEXT_SEARCHES = 10;
const COMPARISONS = { eq: "=", ne: "<>", gt: ">", ge: ">=", lt: "<", le: "<=" } as const;

/** Where the compiled condition searches. */
interface Scope extends ResourceStorage {
  /** Whether SQL searches for parts of strings. */
  readonly searchesText: boolean;
}

/** @throws ScimError invalidFilter if the filter needs groups or members in a way that SQL cannot answer */
export function compileFilter(filter: Filter, storage: ResourceStorage): Condition {
  return compile(filter, { ...storage, searchesText: countTextSearches(filter) <= MAX_TEXT_SEARCHES });
}

function countTextSearches(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.reduce((count, term) => count + countTextSearches(term), 0);
    case "not":
      return countTextSearches(filter.term);
    case "value":
      return countTextSearches(filter.filter);
    case "present":
      return 0;
    case "compare":
      return 1;
  }
}

function compile(filter: Filter, storage: Scope): Condition {
  switch (filter.kind) {
    case "and":
      return compileAnd(filter.terms.map((term) => compile(term, storage)));
    case "or":
      return compileOr(filter, storage);
    case "not": {
      const { where, remainder } = compile(filter.term, storage);
      return remainder === undefined ? exactly(sql<boolean>`(${where}) is not true`) : withRemainder(filter, storage);
    }
    case "present":
      return isLink(filter.path, storage) ? linkExists(storage, undefined) : compilePresence(filter, storage);
    case "value":
      return isLink(filter.path, storage)
        ? compileLinkFilter(filter.filter, storage)
        : { where: ANYTHING, hint: bodyMentions(filter.filter, storage), remainder: filter };
    case "compare":
      return isLink(filter.path, storage) ? compileLinkFilter(filter, storage) : compileComparison(filter, storage);
  }
}

export function columnOf({ extension, attribute, sub }: AttributePath, storage: ResourceStorage): Column | undefined {
  const key = [attribute.name, ...(sub === undefined ? [] : [sub.name])].join(".").toLowerCase();
  return extension === undefined ? storage.columns.get(key) : undefined;
}

function compileAnd(conditions: readonly Condition[]): Condition {
  const terms = conditions.flatMap(({ remainder }) => remainder ?? []);
  const where = joinAnd(conditions.map((condition) => condition.where));
  const hint = joinAnd(conditions.map((condition) => condition.hint));
  return { where, hint, remainder: terms.length === 0 ? undefined : { kind: "and", terms } };
}

function compileOr(filter: Extract<Filter, { kind: "and" | "or" }>, storage: Scope): Condition {
  const conditions = filter.terms.map((term) => compile(term, storage));
  const where = joinOr(conditions.map((condition) => condition.where));
  if (conditions.every(({ remainder }) => remainder === undefined)) return exactly(where);
  return withRemainder(filter, storage, { where, hint: joinOr(conditions.map((condition) => condition.hint)) });
}

function exactly(where: Bool): Condition {
  return { where, hint: ANYTHING, remainder: undefined };
}

/** The remainder cannot refer to groups or members, since they are not loaded for it. */
function withRemainder(filter: Filter, storage: Scope, { where, hint } = { where: ANYTHING, hint: ANYTHING }): Condition {
  if (refersToLinks(filter, storage)) throw unsupportedLinkFilter(storage);
  return { where, hint, remainder: filter };
}

function refersToLinks(filter: Filter, storage: ResourceStorage): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.some((term) => refersToLinks(term, storage));
    case "not":
      return refersToLinks(filter.term, storage);
    default:
      return isLink(filter.path, storage);
  }
}

function joinAnd(conditions: readonly Bool[]): Bool {
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function joinOr(conditions: readonly Bool[]): Bool {
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`;
}

function compilePresence(filter: Extract<Filter, { kind: "present" }>, storage: Scope): Condition {
  const column = columnOf(filter.path, storage);
  return column === undefined ? withRemainder(filter, storage) : exactly(isNotNull(column));
}

function isNotNull({ name, isNullable }: Column): Bool {
  return isNullable ? sql<boolean>`${sql.ref(name)} is not null` : ANYTHING;
}

function compileComparison(filter: Comparison, storage: Scope): Condition {
  const { path, operator, value } = filter;
  const column = columnOf(path, storage);
  if (column === undefined) return withRemainder(filter, storage, { where: ANYTHING, hint: bodyContains(filter, storage) });
  if (value === null) {
    const notNull = isNotNull(column);
    return exactly(operator === "ne" ? notNull : sql<boolean>`not (${notNull})`);
  }
  if (operator === "co" || operator === "sw" || operator === "ew") return compileLike(column, filter, storage);
  const ref = sql.ref(column.name);
  const comparison = sql<boolean>`${ref} ${sql.raw(COMPARISONS[operator])} ${storedValue(column, value)}`;
  const includesNull = operator === "ne" && column.isNullable;
  return exactly(includesNull ? sql<boolean>`(${ref} is null or ${comparison})` : comparison);
}

function storedValue({ holds }: Column, value: string | number | boolean): string | number {
  switch (holds) {
    case "boolean":
      return String(value).toLowerCase() === "true" ? 1 : 0;
    case "time":
      return new Date(String(value)).toISOString();
    case "folded":
      return String(value).toLowerCase();
    case "text":
      return String(value);
  }
}

/** SQLite's LIKE ignores case, so a case-sensitive comparison has a remainder. */
function compileLike({ name, holds }: Column, filter: Comparison, storage: Scope): Condition {
  const { operator, value } = filter;
  if (holds === "boolean" || holds === "time") throw badRequest("invalidFilter", `${operator} compares strings only`);
  if (!storage.searchesText) return withRemainder(filter, storage);
  const escaped = escapeForLike(holds === "folded" ? String(value).toLowerCase() : String(value));
  const pattern = `${operator === "sw" ? "" : "%"}${escaped}${operator === "ew" ? "" : "%"}`;
  const where = sql<boolean>`${sql.ref(name)} like ${pattern} escape '!'`;
  return holds === "folded" ? exactly(where) : withRemainder(filter, storage, { where, hint: ANYTHING });
}

/** For attributes without a column: the body must contain the string somewhere. */
function bodyContains({ path, operator, value }: Comparison, { searchesText }: Scope): Bool {
  const { type } = comparedAttribute(path);
  const isInBody = path.attribute.name !== "meta" && (type === "string" || type === "reference");
  const isFound = operator === "eq" || operator === "co" || operator === "sw" || operator === "ew";
  // Only characters that JSON does not escape and that every database lower-cases in the same way.
  if (!searchesText || !isInBody || !isFound || typeof value !== "string" || !/^[ !#-[\]-~]+$/.test(value)) return ANYTHING;
  return sql<boolean>`lower(body) like ${`%${escapeForLike(value.toLowerCase())}%`} escape '!'`;
}

/** A condition that holds for every body that fulfils the filter in brackets. */
function bodyMentions(filter: Filter, storage: Scope): Bool {
  if (filter.kind === "compare") return bodyContains(filter, storage);
  return filter.kind === "and" ? joinAnd(filter.terms.map((term) => bodyMentions(term, storage))) : ANYTHING;
}

function escapeForLike(text: string): string {
  return text.replace(/[!%_]/g, "!$&");
}

function isLink({ extension, attribute }: AttributePath, { link }: ResourceStorage): boolean {
  return extension === undefined && attribute.name === link.attribute;
}

/** Supports only `members.value eq "…"`, in any of its spellings. */
function compileLinkFilter(filter: Filter, storage: ResourceStorage): Condition {
  if (filter.kind === "compare" && filter.operator === "eq" && typeof filter.value === "string") {
    const { attribute, sub } = filter.path;
    const name = sub?.name ?? (attribute.sub.length > 0 ? "value" : attribute.name);
    if (name === "value") return linkExists(storage, filter.value);
  }
  throw unsupportedLinkFilter(storage);
}

function unsupportedLinkFilter({ link }: ResourceStorage): Error {
  const { attribute } = link;
  return badRequest("invalidFilter", `filters on ${attribute} must be ${attribute}.value eq "…", alone or joined by "and"`);
}

function linkExists({ table, link }: ResourceStorage, id: string | undefined): Condition {
  const own = sql.ref(`scim_group_member.${link.own}`);
  const otherEnd = id === undefined ? sql`` : sql` and ${sql.ref(`scim_group_member.${link.other}`)} = ${id}`;
  const rows = sql`select 1 from scim_group_member where ${own} = ${sql.ref(`${table}.id`)}${otherEnd}`;
  return exactly(sql<boolean>`exists (${rows})`);
}
