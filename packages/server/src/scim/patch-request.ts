/**
 * Parses PATCH requests (RFC 7644 §3.5.2). patch.ts applies the operations to a resource, group-members.ts to the
 * members of a group. Pure.
 */
import { isRecord } from "../lib/is-record.ts";
import { type AttributePath, findAttribute, findAttributePath, findExtension } from "./attribute-path.ts";
import { countTerms, type Filter, FilterReader } from "./filter.ts";
import type { Attribute, Extension, Json, ResourceType } from "./schema.ts";
import { badRequest, ScimError } from "./scim-error.ts";

export type PatchVerb = "add" | "remove" | "replace";

/**
 * What an operation changes: an attribute, optionally limited by `filter` to some of its values and by `sub` to a
 * sub-attribute; or a whole extension.
 */
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
/** Some directories send the members of a group one by one. */
const MAX_OPERATIONS = { User: 200, Group: 1_000 } as const;
/** Terms of the filters of all operations: each is compared with each value. Directories send one or two per operation. */
const MAX_TERMS = 2_000;

/** @throws ScimError */
export function parsePatch(type: ResourceType, request: Json): PatchOperation[] {
  const entries = Object.fromEntries(Object.entries(request).map(([key, value]) => [key.toLowerCase(), value]));
  const { schemas, operations } = entries;
  // Some directories omit `schemas`.
  if (schemas !== undefined && !(Array.isArray(schemas) && schemas.includes(SCHEMA)))
    throw badRequest("invalidSyntax", `schemas must be ["${SCHEMA}"]`);
  if (!Array.isArray(operations) || operations.length === 0) throw badRequest("invalidSyntax", "Operations must be a list of operations");
  const max = MAX_OPERATIONS[type.name];
  if (operations.length > max)
    throw new ScimError(413, undefined, `a request may have at most ${max} operations, but this one has ${operations.length}: split it`);
  const parsed: PatchOperation[] = [];
  let terms = 0;
  for (const operation of operations as unknown[])
    for (const each of parseOperation(type, operation)) {
      terms += 1 + termsOf(each.target);
      if (terms > MAX_TERMS)
        throw new ScimError(413, undefined, `the operations have more than ${MAX_TERMS} paths and terms: split the request`);
      parsed.push(each);
    }
  return parsed;
}

function termsOf(target: PatchTarget): number {
  return "filter" in target && target.filter !== undefined ? countTerms(target.filter) : 0;
}

/** An operation without a path becomes one operation per attribute of its value. */
function parseOperation(type: ResourceType, operation: unknown): PatchOperation[] {
  if (!isRecord(operation)) throw badRequest("invalidSyntax", "each of Operations must be an object");
  const { op, path, value } = operation;
  const verb = typeof op === "string" ? op.toLowerCase() : op;
  if (verb !== "add" && verb !== "remove" && verb !== "replace") throw badRequest("invalidSyntax", "op must be add, remove or replace");
  if (verb !== "remove" && value === undefined) throw badRequest("invalidValue", `${verb} needs a value`);
  if (path === undefined || path === null || path === "") return parseWithoutPath(type, verb, value);
  if (typeof path !== "string") throw badRequest("invalidPath", "path must be a string");
  const target = parsePath(type, path);
  if (target === undefined) throw badRequest("invalidPath", `${JSON.stringify(path.slice(0, 100))} is not an attribute of ${type.name}`);
  const known = target.attribute;
  if (known !== undefined && (known.isReadOnly || ("sub" in target && target.sub?.isReadOnly)))
    throw badRequest("mutability", `${path.slice(0, 100)} cannot be set`);
  return [{ verb, target, value }];
}

/** Ignores unknown and read-only attributes, as in a whole resource: Okta sends the id, too. */
function parseWithoutPath(type: ResourceType, verb: PatchVerb, value: unknown): PatchOperation[] {
  if (verb === "remove") throw badRequest("noTarget", "remove needs a path");
  if (!isRecord(value)) throw badRequest("invalidValue", "without a path, the value must be an object of attributes");
  return Object.entries(value).flatMap(([key, inner]) => {
    const target = parsePath(type, key);
    if (target === undefined || target.attribute?.isReadOnly === true) return [];
    return [{ verb, target, value: inner }];
  });
}

/**
 * @returns undefined if the type has no such attribute
 * @throws ScimError invalidPath, invalidFilter
 */
function parsePath(type: ResourceType, text: string): PatchTarget | undefined {
  const extension = findExtension(type, text);
  if (extension !== undefined) return { extension, attribute: undefined };
  if (!text.includes("[")) return targetFromPath(findAttributePath(type, text), undefined);
  const reader = new FilterReader(text);
  const path = findAttributePath(type, reader.take());
  if (path === undefined) return undefined;
  if (!path.attribute.multiValued || path.sub !== undefined) throw badRequest("invalidPath", `${path.attribute.name} is not multi-valued`);
  const filter = reader.readBrackets(path);
  const sub = reader.peek() === undefined ? undefined : reader.take();
  reader.assertEnd();
  if (sub === undefined) return targetFromPath(path, filter);
  const attribute = sub.startsWith(".") ? findAttribute(path.attribute.sub, sub.slice(1)) : undefined;
  return attribute && targetFromPath({ ...path, sub: attribute }, filter);
}

function targetFromPath(path: AttributePath | undefined, filter: Filter | undefined): PatchTarget | undefined {
  return path && { ...path, filter };
}
