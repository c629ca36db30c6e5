/** Whether a resource fulfils a filter. Pure. */
import { type AttributePath, valuesAt } from "./attribute-path.ts";
import { comparedAttribute, type Filter, type Literal, type Operator } from "./filter.ts";
import type { Attribute, Json } from "./schema.ts";

export function isMatch(filter: Filter, resource: Json): boolean {
  switch (filter.kind) {
    case "and":
      return filter.terms.every((term) => isMatch(term, resource));
    case "or":
      return filter.terms.some((term) => isMatch(term, resource));
    case "not":
      return !isMatch(filter.term, resource);
    case "present":
      return valuesAt(resource, filter.path, false).some((value) => value !== "");
    case "value":
      return valuesAt(resource, filter.path, false).some((value) => isMatch(filter.filter, value as Json));
    case "compare":
      return isCompared(valuesAt(resource, filter.path, true), filter.path, filter.operator, filter.value);
  }
}

/** Of several values, one that fulfils it is enough. What is not there differs from everything but null. */
function isCompared(values: readonly unknown[], path: AttributePath, operator: Operator, expected: Literal): boolean {
  if (expected === null) return operator === (values.length === 0 ? "eq" : "ne");
  if (values.length === 0) return operator === "ne";
  const attribute = comparedAttribute(path);
  return values.some((value) => compare(comparable(attribute, value), operator, comparable(attribute, expected)));
}

/** Entra ID sends booleans as texts. */
function comparable({ type, caseExact }: Attribute, value: unknown): unknown {
  if (type === "dateTime") return Date.parse(String(value));
  if (type === "boolean") return typeof value === "string" ? value.toLowerCase() === "true" : value;
  return caseExact ? String(value) : String(value).toLowerCase();
}

function compare(value: unknown, operator: Operator, expected: unknown): boolean {
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
