/** Parses bulk requests (RFC 7644 §3.7) and resolves their references. Pure. */
import { isRecord } from "../lib/is-record.ts";
import type { Json } from "./schema.ts";
import { badRequest, ScimError } from "./scim-error.ts";

/** Each operation is a transaction of its own. */
export const MAX_BULK_OPERATIONS = 500;
/** Bytes of a request. */
export const MAX_BULK_BYTES = 1024 * 1024;

export type BulkMethod = "POST" | "PUT" | "PATCH" | "DELETE";

export interface BulkRequest {
  /** The request ends after this many failed operations. */
  readonly failOnErrors: number;
  /** Not checked yet: each may fail by itself. */
  readonly operations: readonly unknown[];
}

export interface BulkOperation {
  readonly method: BulkMethod;
  /** The name by which other operations refer to a created resource; empty for none. */
  readonly bulkId: string;
  /** Such as `Users`. */
  readonly endpoint: string;
  /** Undefined for a POST. May be a reference. */
  readonly id: string | undefined;
  /** Condition on the version of the resource, as in `If-Match`. */
  readonly version: string | undefined;
  readonly data: Json;
}

const SCHEMA = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const METHODS: readonly string[] = ["POST", "PUT", "PATCH", "DELETE"];
const PATH = /^\/?(Users|Groups)(?:\/([^/?#]+))?\/?$/;
const REFERENCE = /^bulkId:(.+)$/s;
const REFERENCE_IN_FILTER = /"bulkId:([^"\\]+)"/g;
/** No schema nests deeper. */
const MAX_DEPTH = 16;

/** @throws ScimError if the request as a whole is malformed or too large */
export function parseBulkRequest(request: Json): BulkRequest {
  const { schemas, failonerrors = Number.POSITIVE_INFINITY, operations } = withLowerCaseNames(request);
  if (schemas !== undefined && !(Array.isArray(schemas) && schemas.includes(SCHEMA)))
    throw badRequest("invalidSyntax", `schemas must be ["${SCHEMA}"]`);
  if (failonerrors !== Number.POSITIVE_INFINITY && !(Number.isInteger(failonerrors) && Number(failonerrors) > 0))
    throw badRequest("invalidValue", "failOnErrors must be a whole number from 1");
  if (!Array.isArray(operations) || operations.length === 0) throw badRequest("invalidSyntax", "Operations must be a list of operations");
  if (operations.length > MAX_BULK_OPERATIONS)
    throw new ScimError(413, undefined, `a bulk request may have at most ${MAX_BULK_OPERATIONS} operations (maxOperations): split it`);
  return { failOnErrors: Number(failonerrors), operations };
}

/** The method and bulkId of an operation, also of a malformed one; both return in its result (RFC 7644 §3.7). */
export function nameOfBulkOperation(operation: unknown): Json {
  if (!isRecord(operation)) return {};
  const { method, bulkid } = withLowerCaseNames(operation);
  return {
    ...(typeof method === "string" && { method: nameOfMethod(method) }),
    ...(typeof bulkid === "string" && bulkid !== "" && { bulkId: bulkid }),
  };
}

/** Methods are known in any case. */
function nameOfMethod(method: string): string {
  return METHODS.includes(method.toUpperCase()) ? method.toUpperCase() : method;
}

/** @throws ScimError */
export function parseBulkOperation(operation: unknown): BulkOperation {
  if (!isRecord(operation)) throw badRequest("invalidSyntax", "each of Operations must be an object");
  const { method, bulkid = "", path, version, data = {} } = withLowerCaseNames(operation);
  const verb = typeof method === "string" ? method.toUpperCase() : "";
  if (!METHODS.includes(verb)) throw badRequest("invalidSyntax", `method must be one of ${METHODS.join(", ")}`);
  const [, endpoint, id] = PATH.exec(typeof path === "string" ? path : "") ?? [];
  if (endpoint === undefined || (verb === "POST") !== (id === undefined))
    throw badRequest("invalidPath", "path must be /Users or /Groups for POST, and end in the id of a resource otherwise");
  if (typeof bulkid !== "string" || (verb === "POST" && bulkid === "")) throw badRequest("invalidSyntax", "a POST needs a bulkId");
  if (!isRecord(data) || (verb !== "DELETE" && data !== undefined && Object.keys(data).length === 0))
    throw badRequest("invalidSyntax", `${verb} needs data, which is an object`);
  const condition = typeof version === "string" ? version : undefined;
  return { method: verb as BulkMethod, bulkId: bulkid, endpoint, id, version: condition, data };
}

/** The bulkIds that an operation refers to, in its path and its data. */
export function referencesOf({ id = "", data }: BulkOperation): ReadonlySet<string> {
  const found = new Set<string>();
  const collect = (bulkId: string): string => {
    found.add(bulkId);
    return "";
  };
  resolveText(id, collect);
  resolveValue(data, collect, 0);
  return found;
}

/** @param idOf the id of the resource that was created under a bulkId */
export function resolveReferences(operation: BulkOperation, idOf: (bulkId: string) => string): BulkOperation {
  const { id, data } = operation;
  return { ...operation, id: id === undefined ? undefined : resolveText(id, idOf), data: resolveValue(data, idOf, 0) as Json };
}

function resolveValue(value: unknown, idOf: (bulkId: string) => string, depth: number): unknown {
  if (typeof value === "string") return resolveText(value, idOf);
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => resolveValue(each, idOf, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveValue(each, idOf, depth + 1)]));
}

/** A reference is a whole value, or a whole string in the filter of a path: `members[value eq "bulkId:a"]`. */
function resolveText(text: string, idOf: (bulkId: string) => string): string {
  const [, bulkId] = REFERENCE.exec(text) ?? [];
  if (bulkId !== undefined) return idOf(bulkId);
  return text.replace(REFERENCE_IN_FILTER, (_, inner: string) => `"${idOf(inner)}"`);
}

function withLowerCaseNames(object: Json): Json {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name.toLowerCase(), value]));
}
