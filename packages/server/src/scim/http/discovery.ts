/** Describes the server to directories (RFC 7644 §4). */
import { describeResourceTypes, serviceProviderConfig } from "../describe.ts";
import { describeSchemas, type Json } from "../schema.ts";
import { ScimError } from "../scim-error.ts";
import { answerJson, assertMethod, noSuchPath, type ScimExchange } from "./scim-exchange.ts";

const lists: ReadonlyMap<string, (base: string) => readonly Json[]> = new Map([
  ["ResourceTypes", describeResourceTypes],
  ["Schemas", describeSchemas],
]);

/** @throws ScimError 404 for all other endpoints */
export function describeServer(exchange: ScimExchange): void {
  const { route, query, base } = exchange;
  const { endpoint, id } = route;
  const list = lists.get(endpoint);
  if (list === undefined && (endpoint !== "ServiceProviderConfig" || id !== undefined)) throw noSuchPath();
  assertMethod(exchange, "GET");
  // RFC 7644 §4 requires 403 for a filter.
  if (query.has("filter")) throw new ScimError(403, undefined, "filters are not supported here");
  const found = list === undefined ? serviceProviderConfig(base) : select(list(base), id);
  if (found === undefined) throw noSuchPath();
  answerJson(exchange, 200, found);
}

function select(all: readonly Json[], id: string | undefined): Json | undefined {
  if (id !== undefined) return all.find((each) => String(each.id).toLowerCase() === id.toLowerCase());
  const schemas = ["urn:ietf:params:scim:api:messages:2.0:ListResponse"];
  return { schemas, totalResults: all.length, startIndex: 1, itemsPerPage: all.length, Resources: all };
}
