/** Parses the parameters of a search from a query, or from the body of `POST …/.search`. Pure. */
import { MAX_COUNT, type SearchRequest } from "../answer.ts";
import type { Projection } from "../projection.ts";
import type { Json } from "../schema.ts";
import { badRequest } from "../scim-error.ts";

const DEFAULT_COUNT = 100;
const MAX_ATTRIBUTES = 100;

/** Keyed by lower-case name, because some directories send `StartIndex`. */
type Parameters = ReadonlyMap<string, unknown>;

export function parametersOfQuery(query: URLSearchParams): Parameters {
  return new Map([...query].map(([name, value]) => [name.toLowerCase(), value]));
}

export function parametersOfBody(body: Json): Parameters {
  return new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value]));
}

/** @throws ScimError */
export function searchRequestFrom(parameters: Parameters): SearchRequest {
  return {
    filter: textOf(parameters, "filter"),
    sortBy: textOf(parameters, "sortBy"),
    isDescending: isDescending(textOf(parameters, "sortOrder")),
    // Values that are too small count as the minimum (RFC 7644 §3.4.2.4).
    startIndex: Math.max(integerOf(parameters, "startIndex") ?? 1, 1),
    count: Math.min(Math.max(integerOf(parameters, "count") ?? DEFAULT_COUNT, 0), MAX_COUNT),
    projection: projectionFrom(parameters),
  };
}

/** @throws ScimError */
export function projectionFrom(parameters: Parameters): Projection {
  return { attributes: namesOf(parameters, "attributes"), excluded: namesOf(parameters, "excludedAttributes") ?? [] };
}

function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters.get(name.toLowerCase()) ?? "";
  if (typeof value !== "string") throw badRequest("invalidSyntax", `${name} must be a string`);
  return value.trim() === "" ? undefined : value;
}

function isDescending(sortOrder: string | undefined): boolean {
  const order = sortOrder?.toLowerCase() ?? "ascending";
  if (order !== "ascending" && order !== "descending") throw badRequest("invalidValue", "sortOrder must be ascending or descending");
  return order === "descending";
}

function integerOf(parameters: Parameters, name: string): number | undefined {
  const value = parameters.get(name.toLowerCase());
  if (value === undefined || value === null || value === "") return undefined;
  const number = Number(value);
  if ((typeof value !== "string" && typeof value !== "number") || !Number.isSafeInteger(number))
    throw badRequest("invalidValue", `${name} must be a whole number`);
  return number;
}

/** A query has them in one string, a body in a list. */
function namesOf(parameters: Parameters, name: string): string[] | undefined {
  const value = parameters.get(name.toLowerCase());
  if (value === undefined || value === null || value === "") return undefined;
  const list: unknown[] = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [undefined];
  const names = list.map((each) => (typeof each === "string" ? each.trim() : undefined));
  if (names.length > MAX_ATTRIBUTES || names.includes(undefined))
    throw badRequest("invalidSyntax", `${name} must be at most ${MAX_ATTRIBUTES} names of attributes`);
  return names.filter((each): each is string => each !== undefined && each !== "");
}
