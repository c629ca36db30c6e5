/**
 * Compiles filters to SQL: a condition that all matching rows fulfil, and the part of the filter that the database
 * cannot check and that is applied to the rows it returns.
 */
import { type RawBuilder, sql } from "kysely";
import type { AttributePath } from "./attribute-path.ts";
import { comparedAttribute, type Filter } from "./filter.ts";
import { badRequest } from "./scim-error.ts";
import type { Column, ResourceStorage } from "./storage.ts";

type Bool = RawBuilder<boolean>;

export interface Condition {
  readonly where: Bool;
  /** The part to apply to the rows; undefined if the SQL condition is exact. */
  readonly remainder: Filter | undefined;
}

type Comparison = Extract<Filter, { kind: "compare" }>;

const ANYTHING = sql<boolean>`1 = 1`;
const COMPARISONS = { eq: "=", ne: "<>", gt: ">", ge: ">=", lt: "<", le: "<=" } as const;

/** @throws ScimError invalidFilter if the filter needs groups or members in a way that SQL cannot answer */
export function compileFilter(filter: Filter, storage: ResourceStorage): Condition {
  switch (filter.kind) {
    case "and":
      return compileAnd(filter.terms.map((term) => compileFilter(term, storage)));
    case "or":
      return compileOr(filter, storage);
    case "not": {
      const { where, remainder } = compileFilter(filter.term, storage);
      return remainder === undefined
        ? { where: sql<boolean>`(${where}) is not true`, remainder }
        : withRemainder(filter, storage, ANYTHING);
    }
    case "present":
      return isLink(filter.path, storage) ? linkExists(storage, undefined) : compilePresence(filter, storage);
    case "value":
      return isLink(filter.path, storage)
        ? compileLinkFilter(filter.filter, storage)
        : { where: bodyMentions(filter.filter), remainder: filter };
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
  return { where, remainder: terms.length === 0 ? undefined : { kind: "and", terms } };
}

function compileOr(filter: Extract<Filter, { kind: "and" | "or" }>, storage: ResourceStorage): Condition {
  const conditions = filter.terms.map((term) => compileFilter(term, storage));
  const where = sql<boolean>`(${sql.join(
    conditions.map((condition) => condition.where),
    sql` or `,
  )})`;
  return conditions.every(({ remainder }) => remainder === undefined)
    ? { where, remainder: undefined }
    : withRemainder(filter, storage, where);
}

/** The remainder cannot refer to groups or members, since they are not loaded for it. */
function withRemainder(filter: Filter, storage: ResourceStorage, where: Bool): Condition {
  if (refersToLinks(filter, storage)) throw unsupportedLinkFilter(storage);
  return { where, remainder: filter };
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

function compilePresence(filter: Extract<Filter, { kind: "present" }>, storage: ResourceStorage): Condition {
  const column = columnOf(filter.path, storage);
  if (column === undefined) return { where: ANYTHING, remainder: filter };
  return { where: isNotNull(column), remainder: undefined };
}

function isNotNull({ name, isNullable }: Column): Bool {
  return isNullable ? sql<boolean>`${sql.ref(name)} is not null` : ANYTHING;
}

function compileComparison(filter: Comparison, storage: ResourceStorage): Condition {
  const { path, operator, value } = filter;
  const column = columnOf(path, storage);
  if (column === undefined) return { where: bodyContains(filter), remainder: filter };
  if (value === null) {
    const notNull = isNotNull(column);
    return { where: operator === "ne" ? notNull : sql<boolean>`not (${notNull})`, remainder: undefined };
  }
  if (operator === "co" || operator === "sw" || operator === "ew") return compileLike(column, filter);
  const ref = sql.ref(column.name);
  const comparison = sql<boolean>`${ref} ${sql.raw(COMPARISONS[operator])} ${storedValue(column, value)}`;
  const includesNull = operator === "ne" && column.isNullable;
  return { where: includesNull ? sql<boolean>`(${ref} is null or ${comparison})` : comparison, remainder: undefined };
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
function compileLike({ name, holds }: Column, filter: Comparison): Condition {
  const { operator, value } = filter;
  if (holds === "boolean" || holds === "time") throw badRequest("invalidFilter", `${operator} compares strings only`);
  const escaped = escapeForLike(holds === "folded" ? String(value).toLowerCase() : String(value));
  const pattern = `${operator === "sw" ? "" : "%"}${escaped}${operator === "ew" ? "" : "%"}`;
  return { where: sql<boolean>`${sql.ref(name)} like ${pattern} escape '!'`, remainder: holds === "folded" ? undefined : filter };
}

/** For attributes without a column: the body must contain the string somewhere. */
function bodyContains({ path, operator, value }: Comparison): Bool {
  const { type } = comparedAttribute(path);
  const isInBody = path.attribute.name !== "meta" && (type === "string" || type === "reference");
  const isFound = operator === "eq" || operator === "co" || operator === "sw" || operator === "ew";
  // Only characters that JSON does not escape and that every database lower-cases in the same way.
  if (!isInBody || !isFound || typeof value !== "string" || !/^[ !#-[\]-~]+$/.test(value)) return ANYTHING;
  return sql<boolean>`lower(body) like ${`%${escapeForLike(value.toLowerCase())}%`} escape '!'`;
}

/** A condition that holds for every body that fulfils the filter in brackets. */
function bodyMentions(filter: Filter): Bool {
  if (filter.kind === "compare") return bodyContains(filter);
  return filter.kind === "and" ? joinAnd(filter.terms.map(bodyMentions)) : ANYTHING;
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
  return { where: sql<boolean>`exists (${rows})`, remainder: undefined };
}
