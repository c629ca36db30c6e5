/** Filters for the database: a condition that holds for all that match, and what is left to be asked of those that it lets through. */
import { type RawBuilder, sql } from "kysely";
import type { AttributePath } from "./attribute-path.ts";
import { comparedAttribute, type Filter } from "./filter.ts";
import type { Column, Kind } from "./kind.ts";
import { badRequest } from "./scim-error.ts";

type Bool = RawBuilder<boolean>;

export interface Condition {
  readonly where: Bool;
  /** Undefined where the condition says it all. */
  readonly rest: Filter | undefined;
}

type Comparison = Extract<Filter, { kind: "compare" }>;

const ANYTHING = sql<boolean>`1 = 1`;
const COMPARISONS = { eq: "=", ne: "<>", gt: ">", ge: ">=", lt: "<", le: "<=" } as const;

/** @throws ScimError invalidFilter, where the filter asks for what is not kept with the resource and too much to look through */
export function conditionFrom(filter: Filter, kind: Kind): Condition {
  switch (filter.kind) {
    case "and":
      return allOf(filter.terms.map((term) => conditionFrom(term, kind)));
    case "or":
      return anyOf(filter, kind);
    case "not": {
      const { where, rest } = conditionFrom(filter.term, kind);
      return rest === undefined ? { where: sql<boolean>`(${where}) is not true`, rest } : remaining(filter, kind, ANYTHING);
    }
    case "present":
      return isLink(filter.path, kind) ? linked(kind, undefined) : present(filter, kind);
    case "value":
      return isLink(filter.path, kind) ? linkedTo(filter.filter, kind) : { where: mentioned(filter.filter), rest: filter };
    case "compare":
      return isLink(filter.path, kind) ? linkedTo(filter, kind) : compared(filter, kind);
  }
}

export function columnOf({ extension, attribute, sub }: AttributePath, kind: Kind): Column | undefined {
  const key = [attribute.name, ...(sub === undefined ? [] : [sub.name])].join(".").toLowerCase();
  return extension === undefined ? kind.columns.get(key) : undefined;
}

function allOf(conditions: readonly Condition[]): Condition {
  const rests = conditions.flatMap(({ rest }) => rest ?? []);
  return { where: and(conditions.map(({ where }) => where)), rest: rests.length === 0 ? undefined : { kind: "and", terms: rests } };
}

function anyOf(filter: Extract<Filter, { kind: "and" | "or" }>, kind: Kind): Condition {
  const conditions = filter.terms.map((term) => conditionFrom(term, kind));
  const where = sql<boolean>`(${sql.join(
    conditions.map((condition) => condition.where),
    sql` or `,
  )})`;
  return conditions.every(({ rest }) => rest === undefined) ? { where, rest: undefined } : remaining(filter, kind, where);
}

/** What is not asked of the database cannot be about groups or members: they are not read for that. */
function remaining(filter: Filter, kind: Kind, where: Bool): Condition {
  if (asksForLinks(filter, kind)) throw linksAlone(kind);
  return { where, rest: filter };
}

function asksForLinks(filter: Filter, kind: Kind): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.some((term) => asksForLinks(term, kind));
    case "not":
      return asksForLinks(filter.term, kind);
    default:
      return isLink(filter.path, kind);
  }
}

function and(conditions: readonly Bool[]): Bool {
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function present(filter: Extract<Filter, { kind: "present" }>, kind: Kind): Condition {
  const column = columnOf(filter.path, kind);
  if (column === undefined) return { where: ANYTHING, rest: filter };
  return { where: isThere(column), rest: undefined };
}

function isThere({ name, isNullable }: Column): Bool {
  return isNullable ? sql<boolean>`${sql.ref(name)} is not null` : ANYTHING;
}

function compared(filter: Comparison, kind: Kind): Condition {
  const { path, operator, value } = filter;
  const column = columnOf(path, kind);
  if (column === undefined) return { where: containing(filter), rest: filter };
  const there = isThere(column);
  if (value === null) return { where: operator === "ne" ? there : sql<boolean>`not (${there})`, rest: undefined };
  if (operator === "co" || operator === "sw" || operator === "ew") return like(column, filter);
  const ref = sql.ref(column.name);
  const comparison = sql<boolean>`${ref} ${sql.raw(COMPARISONS[operator])} ${stored(column, value)}`;
  const isNotThere = operator === "ne" && column.isNullable;
  return { where: isNotThere ? sql<boolean>`(${ref} is null or ${comparison})` : comparison, rest: undefined };
}

function stored({ holds }: Column, value: string | number | boolean): string | number {
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

/** LIKE of SQLite is not exact about case. */
function like({ name, holds }: Column, filter: Comparison): Condition {
  const { operator, value } = filter;
  if (holds === "boolean" || holds === "time") throw badRequest("invalidFilter", `${operator} compares texts only`);
  const escaped = escapedForLike(holds === "folded" ? String(value).toLowerCase() : String(value));
  const pattern = `${operator === "sw" ? "" : "%"}${escaped}${operator === "ew" ? "" : "%"}`;
  return { where: sql<boolean>`${sql.ref(name)} like ${pattern} escape '!'`, rest: holds === "folded" ? undefined : filter };
}

/** Of what is only in the body, that much can be said: the text must be somewhere in it. */
function containing({ path, operator, value }: Comparison): Bool {
  const { type } = comparedAttribute(path);
  const isInBody = path.attribute.name !== "meta" && (type === "string" || type === "reference");
  const isFound = operator === "eq" || operator === "co" || operator === "sw" || operator === "ew";
  // Only what looks the same in JSON, and has the same small letters on every database.
  if (!isInBody || !isFound || typeof value !== "string" || !/^[ !#-[\]-~]+$/.test(value)) return ANYTHING;
  return sql<boolean>`lower(body) like ${`%${escapedForLike(value.toLowerCase())}%`} escape '!'`;
}

/** What all that fulfil the filter within brackets mention. */
function mentioned(filter: Filter): Bool {
  if (filter.kind === "compare") return containing(filter);
  return filter.kind === "and" ? and(filter.terms.map(mentioned)) : ANYTHING;
}

function escapedForLike(text: string): string {
  return text.replace(/[!%_]/g, "!$&");
}

function isLink({ extension, attribute }: AttributePath, { link }: Kind): boolean {
  return extension === undefined && attribute.name === link.attribute;
}

/** Only `members.value eq "…"`, in one way of writing it or another. */
function linkedTo(filter: Filter, kind: Kind): Condition {
  if (filter.kind === "compare" && filter.operator === "eq" && typeof filter.value === "string") {
    const { attribute, sub } = filter.path;
    const name = sub?.name ?? (attribute.sub.length > 0 ? "value" : attribute.name);
    if (name === "value") return linked(kind, filter.value);
  }
  throw linksAlone(kind);
}

function linksAlone({ link }: Kind): Error {
  const { attribute } = link;
  return badRequest("invalidFilter", `${attribute} can be searched by ${attribute}.value eq "…" only, alone or with "and"`);
}

function linked({ table, link }: Kind, id: string | undefined): Condition {
  const whom = id === undefined ? sql`` : sql` and ${sql.ref(`scim_group_member.${link.other}`)} = ${id}`;
  const rows = sql`select 1 from scim_group_member where ${sql.ref(`scim_group_member.${link.own}`)} = ${sql.ref(`${table}.id`)}${whom}`;
  return { where: sql<boolean>`exists (${rows})`, rest: undefined };
}
