/**
 * Serves `/Bulk` (RFC 7644 §3.7): many operations in one request. Each is a transaction of its own, as if it were sent
 * alone. An operation waits for those that create the resources it refers to.
 */
import {
  type BulkMethod,
  type BulkOperation,
  MAX_BULK_BYTES,
  nameOfBulkOperation,
  parseBulkOperation,
  parseBulkRequest,
  referencesOf,
  resolveReferences,
} from "../bulk-request.ts";
import { etagOf, type ScimRow } from "../resource.ts";
import type { Json } from "../schema.ts";
import { badRequest, ScimError } from "../scim-error.ts";
import { scimErrorOf } from "./error.ts";
import { type Endpoint, endpoints } from "./resources.ts";
import { answerJson, assertMethod, readJson, type ScimExchange } from "./scim-exchange.ts";

const RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";

/** Ids of created resources by bulkId: undefined while an operation has not run, null once it has failed. */
type Created = Map<string, string | null | undefined>;

/** An operation that has not run yet. `failure` is set if it cannot. */
interface Waiting {
  readonly index: number;
  /** Members of the operation that its result repeats. */
  readonly own: Json;
  readonly operation: BulkOperation | undefined;
  readonly references: ReadonlySet<string>;
  readonly failure: unknown;
}

export async function serveBulk(exchange: ScimExchange): Promise<void> {
  assertMethod(exchange, "POST");
  const { failOnErrors, operations } = parseBulkRequest(await readJson(exchange, MAX_BULK_BYTES));
  using _slot = exchange.bulks.take(exchange.directory.provider.uid);
  answerJson(exchange, 200, { schemas: [RESPONSE], Operations: await runAll(exchange, operations, failOnErrors) });
}

/** @returns the results in the order of the request; without those that did not run because of `failOnErrors` */
async function runAll(exchange: ScimExchange, operations: readonly unknown[], failOnErrors: number): Promise<Json[]> {
  const results: (Json | undefined)[] = [];
  const created: Created = new Map();
  let waiting = operations.map((operation, index) => prepare(operation, index, created));
  let errors = 0;
  // A client that left does not see the results, but the directory then repeats the whole request.
  while (waiting.length > 0 && errors < failOnErrors && !exchange.response.destroyed) {
    const next = waiting.find(({ references }) => [...references].every((bulkId) => created.get(bulkId) !== undefined)) ?? waiting[0];
    waiting = waiting.filter((each) => each !== next);
    if (next === undefined) break;
    const result = await run(exchange, next, created);
    results[next.index] = result;
    if (result.response !== undefined) errors++;
  }
  return results.filter((result) => result !== undefined);
}

/** Registers the bulkId, so that other operations know which one to wait for. */
function prepare(given: unknown, index: number, created: Created): Waiting {
  const own = nameOfBulkOperation(given);
  try {
    const operation = parseBulkOperation(given);
    const { method, bulkId } = operation;
    if (method === "POST" && created.has(bulkId)) throw badRequest("invalidValue", "another operation has the same bulkId");
    if (method === "POST") created.set(bulkId, undefined);
    return { index, own, operation, references: referencesOf(operation), failure: undefined };
  } catch (failure) {
    return { index, own, operation: undefined, references: new Set(), failure };
  }
}

async function run(exchange: ScimExchange, { own, operation, failure }: Waiting, created: Created): Promise<Json> {
  if (operation === undefined) return failed(own, failure, exchange);
  const { method, bulkId } = operation;
  const endpoint = endpoints.get(operation.endpoint) as Endpoint;
  const locationOf = (id: string) => `${exchange.base}${endpoint.kind.type.endpoint}/${id}`;
  let id: string | undefined;
  try {
    const resolved = resolveReferences(operation, (wanted) => idOf(wanted, created));
    id = resolved.id;
    const row = await apply(exchange, endpoint, resolved);
    if (method === "POST" && row !== undefined) created.set(bulkId, row.id);
    const location = locationOf(row?.id ?? id ?? "");
    return { ...own, location, ...(row !== undefined && { version: etagOf(row) }), status: STATUS[method] };
  } catch (error) {
    if (method === "POST") created.set(bulkId, null);
    return failed({ ...own, ...(id !== undefined && { location: locationOf(id) }) }, error, exchange);
  }
}

const STATUS: Readonly<Record<BulkMethod, string>> = { POST: "201", PUT: "200", PATCH: "200", DELETE: "204" };

function idOf(bulkId: string, created: Created): string {
  const id = created.get(bulkId);
  if (typeof id === "string") return id;
  const shown = JSON.stringify(bulkId.slice(0, 100));
  if (!created.has(bulkId)) throw badRequest("invalidValue", `no POST of this request has the bulkId ${shown}`);
  const why = id === null ? "failed" : "refers to this one, directly or through others";
  throw new ScimError(409, undefined, `the operation with the bulkId ${shown} ${why}`);
}

async function apply({ directoryFor }: ScimExchange, endpoint: Endpoint, operation: BulkOperation): Promise<ScimRow | undefined> {
  const { method, id = "", data, version } = operation;
  const directory = directoryFor(method);
  switch (method) {
    case "POST":
      return endpoint.create(directory, data);
    case "PUT":
      return endpoint.replace(directory, id, data, version);
    case "PATCH":
      return endpoint.patch(directory, id, data, version);
    default:
      await endpoint.remove(directory, id, version);
      return undefined;
  }
}

function failed(own: Json, error: unknown, { reportFault }: ScimExchange): Json {
  const { status, body } = scimErrorOf(error, reportFault);
  return { ...own, status: String(status), response: body };
}
