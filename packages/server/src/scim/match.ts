/** Evaluates filters on resources. Pure. */
import { type AttributePath, valuesAt } from "./attribute-path.ts";
import { comparedAttribute, type Filter, type Literal, type Operator } from "./filter.ts";
import type { Attribute, Json } from "./schema.ts";

export function matchesFilter(filter: Filter, resource: Json): boolean {
  switch (filter.kind) {
    case "and":
      return filter.terms.every((term) => matchesFilter(term, resource));
    case "or":
      return filter.terms.some((term) => matchesFilter(term, resource));
    case "not":
      return !matchesFilter(filter.term, resource);
    case "present":
      return valuesAt(resource, filter.path, false).some((value) => value !== "");
    case "value":
      return valuesAt(resource, filter.path, false).some((value) => matchesFilter(filter.filter, value as Json));
    case "compare":
      return compareValues(valuesAt(resource, filter.path, true), filter.path, filter.operator, filter.value);
  }
}

/** One matching value is enough. A missing value differs from everything except null. */
function compareValues(values: readonly unknown[], path: AttributePath, operator: Operator, expected: Literal): boolean {
  if (expected === null) return operator === (values.length === 0 ? "eq" : "ne");
  if (values.length === 0) return operator === "ne";
  const attribute = comparedAttribute(path);
  const comparable = toComparable(attribute, expected);
  return values.some((value) => compareValue(toComparable(attribute, value), operator, comparable));
}

/** Entra ID sends booleans as strings. */
function toComparable({ type, caseExact }: Attribute, value: unknown): unknown {
  if (type === "dateTime") return Date.parse(String(value));
  if (type === "boolean") return typeof value === "string" ? value.toLowerCase() === "true" : value;
  return caseExact ? String(value) : String(value).toLowerCase();
}

function compareValue(value: unknown, operator: Operator, expected: unknown): boolean {
  switch (operator) {
    case "eq":
      return value === expected;
    case "ne":
      return value !== expected;
    case "co":
      return String(value).includes(String(expected));
    case "sw":
      return String(value).startsWith(String(expected));
    case "ew":
      return String(value).endsWith(String(expected));
    case "gt":
      return (value as string) > (expected as string);
    case "ge":
      return (value as string) >= (expected as string);
    case "lt":
      return (value as string) < (expected as string);
    case "le":
      return (value as string) <= (expected as string);
  }
}
