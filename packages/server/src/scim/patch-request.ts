/** PATCH requests of RFC 7644 §3.5.2: operations and what their paths point to. What they do to a resource is patch.ts, to the members of a group group-members.ts. Pure. */
import { type AttributePath, findAttribute, findAttributePath, findExtension } from "./attribute-path.ts";
import { type Filter, FilterReader } from "./filter.ts";
import type { Attribute, Extension, Json, ResourceType } from "./schema.ts";
import { badRequest, ScimError } from "./scim-error.ts";

export type PatchVerb = "add" | "remove" | "replace";

/** Where an operation applies: an attribute, with a filter only those of its values that fulfil it, with `sub` a part of each; or an extension as a whole. */
export type PatchTarget =
  | { readonly extension: Extension; readonly attribute: undefined }
  | {
      readonly extension: Extension | undefined;
      readonly attribute: Attribute;
      readonly filter: Filter | undefined;
      readonly sub: Attribute | undefined;
    };

export interface PatchOperation {
  readonly verb: PatchVerb;
  readonly target: PatchTarget;
  readonly value: unknown;
}

const SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
/** Directories send a group's members one by one. */
const MAX_OPERATIONS = { User: 200, Group: 1_000 } as const;

/** @throws ScimError */
export function parsePatch(type: ResourceType, request: Json): PatchOperation[] {
  const entries = Object.fromEntries(Object.entries(request).map(([key, value]) => [key.toLowerCase(), value]));
  const { schemas, operations } = entries;
  // Some directories leave it out.
  if (schemas !== undefined && !(Array.isArray(schemas) && schemas.includes(SCHEMA)))
    throw badRequest("invalidSyntax", `schemas must be ["${SCHEMA}"]`);
  if (!Array.isArray(operations) || operations.length === 0) throw badRequest("invalidSyntax", "Operations must be a list of operations");
  const max = MAX_OPERATIONS[type.name];
  if (operations.length > max)
    throw new ScimError(413, undefined, `a request may have ${max} operations, this one has ${operations.length}: split it`);
  return operations.flatMap((operation: unknown) => parseOperation(type, operation));
}

/** One operation without a path is one for each attribute of its value. */
function parseOperation(type: ResourceType, operation: unknown): PatchOperation[] {
  if (!isObject(operation)) throw badRequest("invalidSyntax", "each of Operations must be an object");
  const { op, path, value } = operation;
  const verb = typeof op === "string" ? op.toLowerCase() : op;
  if (verb !== "add" && verb !== "remove" && verb !== "replace") throw badRequest("invalidSyntax", "op must be add, remove or replace");
  if (verb !== "remove" && value === undefined) throw badRequest("invalidValue", `a value is needed for ${verb}`);
  if (path === undefined || path === null || path === "") return withoutPath(type, verb, value);
  if (typeof path !== "string") throw badRequest("invalidPath", "path must be a text");
  const target = parsePath(type, path);
  if (target === undefined) throw badRequest("invalidPath", `${JSON.stringify(path.slice(0, 100))} is no attribute of ${type.name}`);
  const known = target.attribute;
  if (known !== undefined && (known.isReadOnly || ("sub" in target && target.sub?.isReadOnly)))
    throw badRequest("mutability", `${path.slice(0, 100)} cannot be set`);
  return [{ verb, target, value }];
}

/** What is unknown or read-only is passed over, as in a whole resource: Okta sends the id along. */
function withoutPath(type: ResourceType, verb: PatchVerb, value: unknown): PatchOperation[] {
  if (verb === "remove") throw badRequest("noTarget", "a path is needed for remove");
  if (!isObject(value)) throw badRequest("invalidValue", "without a path, the value must be an object of attributes");
  return Object.entries(value).flatMap(([key, inner]) => {
    const target = parsePath(type, key);
    if (target === undefined || target.attribute?.isReadOnly === true) return [];
    return [{ verb, target, value: inner }];
  });
}

/** Undefined for what is no attribute of the type. @throws ScimError invalidPath, invalidFilter */
export function parsePath(type: ResourceType, text: string): PatchTarget | undefined {
  const extension = findExtension(type, text);
  if (extension !== undefined) return { extension, attribute: undefined };
  if (!text.includes("[")) return targetOf(findAttributePath(type, text), undefined);
  const reader = new FilterReader(text);
  const path = findAttributePath(type, reader.take());
  if (path === undefined) return undefined;
  if (!path.attribute.multiValued || path.sub !== undefined)
    throw badRequest("invalidPath", `${path.attribute.name} does not have several values`);
  const filter = reader.readBrackets(path);
  const sub = reader.peek() === undefined ? undefined : reader.take();
  reader.assertEnd();
  if (sub === undefined) return targetOf(path, filter);
  const attribute = sub.startsWith(".") ? findAttribute(path.attribute.sub, sub.slice(1)) : undefined;
  return attribute && targetOf({ ...path, sub: attribute }, filter);
}

function targetOf(path: AttributePath | undefined, filter: Filter | undefined): PatchTarget | undefined {
  return path && { ...path, filter };
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
