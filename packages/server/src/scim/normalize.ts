/**
 * Converts what a directory sent into the form that is stored. Tolerates what directories are known to send: names in
 * any case, null for missing values, booleans as strings, single values for lists, unknown attributes. Then checks
 * types strictly. Pure.
 */
import { isStorableText } from "../lib/clean-text.ts";
import { findAttribute, findAttributePath, findExtension } from "./attribute-path.ts";
import type { Attribute, Json, ResourceType } from "./schema.ts";
import { badRequest } from "./scim-error.ts";

const MAX_RESOURCE_BYTES = 64 * 1024;
const MAX_VALUES_PER_ATTRIBUTE = 200;
/** Characters of an indexed attribute. */
const MAX_INDEXED_LENGTH = 500;
const INDEXED = ["userName", "displayName", "externalId"];

/**
 * @returns only attributes that the directory may set, under their canonical names
 * @throws ScimError invalidValue
 */
export function normalize(type: ResourceType, source: Json): Json {
  const body: Json = {};
  for (const [key, value] of Object.entries(source)) setNormalized(type, body, key, value);
  const extensions = type.extensions.map(({ urn }) => urn).filter((urn) => body[urn] !== undefined);
  const whole = { schemas: [type.urn, ...extensions], ...body };
  assertTextSize(whole);
  type.check(whole);
  assertSizes(whole);
  return whole;
}

function setNormalized(type: ResourceType, body: Json, key: string, value: unknown): void {
  const extension = findExtension(type, key);
  if (extension !== undefined) {
    const inner = normalizeComplex(extension.attributes, value);
    if (inner !== undefined) body[extension.urn] = { ...(body[extension.urn] as Json | undefined), ...inner };
    return;
  }
  const path = findAttributePath(type, key);
  if (path === undefined || path.sub !== undefined || !isStored(path.attribute)) return;
  const normalized = normalizeValue(path.attribute, value);
  if (normalized === undefined) return;
  if (path.extension === undefined) body[path.attribute.name] = normalized;
  else body[path.extension.urn] = { ...(body[path.extension.urn] as Json | undefined), [path.attribute.name]: normalized };
}

function isStored({ isReadOnly, isSecret }: Attribute): boolean {
  return !isReadOnly && !isSecret;
}

/**
 * Normalizes the value of an attribute, or all values of a multi-valued one.
 * @returns undefined if there is no value
 */
export function normalizeValue(attribute: Attribute, value: unknown): unknown {
  if (!attribute.multiValued) return normalizeSingle(attribute, value);
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  assertValueCount(attribute.name, given.length);
  const values = given.map((each) => normalizeSingle(attribute, each)).filter((each) => each !== undefined);
  return values.length === 0 ? undefined : values;
}

export function normalizeSingle(attribute: Attribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (attribute.type === "complex") {
    const isShort = typeof value !== "object" && findAttribute(attribute.sub, "value") !== undefined;
    return normalizeComplex(attribute.sub, isShort ? { value } : value, attribute.name);
  }
  if (attribute.type === "boolean") return parseBoolean(value);
  const text = attribute.type === "string" && (typeof value === "number" || typeof value === "boolean") ? String(value) : value;
  if (typeof text === "string") assertText(attribute.name, text);
  return text;
}

function normalizeComplex(attributes: readonly Attribute[], value: unknown, name = "the extension"): Json | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw badRequest("invalidValue", `${name} must be an object`);
  const complex: Json = {};
  for (const [key, inner] of Object.entries(value)) {
    const attribute = findAttribute(attributes, key);
    const normalized = attribute === undefined || !isStored(attribute) ? undefined : normalizeValue(attribute, inner);
    if (attribute !== undefined && normalized !== undefined) complex[attribute.name] = normalized;
  }
  return Object.keys(complex).length === 0 ? undefined : complex;
}

export function assertValueCount(name: string, count: number): void {
  if (count > MAX_VALUES_PER_ATTRIBUTE) throw badRequest("invalidValue", `${name} has more than ${MAX_VALUES_PER_ATTRIBUTE} values`);
}

/** Entra ID sends "True" and "False". */
function parseBoolean(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const word = value.toLowerCase();
  return word === "true" ? true : word === "false" ? false : value;
}

function assertText(name: string, text: string): void {
  if (!isStorableText(text)) throw badRequest("invalidValue", `${name} contains characters that cannot be stored`);
}

function assertSizes(body: Json): void {
  for (const name of INDEXED) {
    const value = body[name];
    if (typeof value === "string" && value.length > MAX_INDEXED_LENGTH)
      throw badRequest("invalidValue", `${name} is longer than ${MAX_INDEXED_LENGTH} characters`);
  }
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_RESOURCE_BYTES) throw tooLarge();
}

/** Counts characters, so that a resource far above the limit is never encoded. @throws ScimError invalidValue */
export function assertTextSize(resource: Json): void {
  let left = MAX_RESOURCE_BYTES;
  const count = (value: unknown): void => {
    if (typeof value === "string") left -= value.length;
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(count);
    if (left < 0) throw tooLarge();
  };
  count(resource);
}

function tooLarge(): Error {
  return badRequest("invalidValue", `the resource is larger than ${MAX_RESOURCE_BYTES} bytes`);
}
