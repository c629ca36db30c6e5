/**
 * What a directory sent, in the form in which it is kept: generous in what directories are known to do (names in any case, null for nothing, booleans and
 * single values in other clothes, attributes that nobody knows), strict in types after that. Pure.
 */
import { findAttribute, findAttributePath, findExtension } from "./attribute-path.ts";
import type { Attribute, Json, ResourceType } from "./schema.ts";
import { badRequest } from "./scim-error.ts";

/** Of a resource as it is stored. */
const MAX_BYTES = 64 * 1024;
/** Of one attribute. */
const MAX_VALUES = 200;
/** Of what is indexed, in characters. */
const MAX_NAME = 500;
const INDEXED = ["userName", "displayName", "externalId"];

/** @returns only attributes that the directory may set, with their proper names. @throws ScimError invalidValue */
export function normalize(type: ResourceType, source: Json): Json {
  const body: Json = {};
  for (const [key, value] of Object.entries(source)) place(type, body, key, value);
  const extensions = type.extensions.map(({ urn }) => urn).filter((urn) => body[urn] !== undefined);
  const whole = { schemas: [type.urn, ...extensions], ...body };
  type.check(whole);
  assertSizes(whole);
  return whole;
}

function place(type: ResourceType, body: Json, key: string, value: unknown): void {
  const extension = findExtension(type, key);
  if (extension !== undefined) {
    const inner = loosenComplex(extension.attributes, value);
    if (inner !== undefined) body[extension.urn] = { ...(body[extension.urn] as Json | undefined), ...inner };
    return;
  }
  const path = findAttributePath(type, key);
  if (path === undefined || path.sub !== undefined || !isKept(path.attribute)) return;
  const loose = loosen(path.attribute, value);
  if (loose === undefined) return;
  if (path.extension === undefined) body[path.attribute.name] = loose;
  else body[path.extension.urn] = { ...(body[path.extension.urn] as Json | undefined), [path.attribute.name]: loose };
}

export function isKept({ isReadOnly, isSecret }: Attribute): boolean {
  return !isReadOnly && !isSecret;
}

/** One value of an attribute, or all of one with several. Undefined for nothing. */
export function loosen(attribute: Attribute, value: unknown): unknown {
  if (!attribute.multiValued) return loosenOne(attribute, value);
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  assertFewValues(attribute.name, given.length);
  const values = given.map((each) => loosenOne(attribute, each)).filter((each) => each !== undefined);
  return values.length === 0 ? undefined : values;
}

export function loosenOne(attribute: Attribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (attribute.type === "complex") {
    const isShort = typeof value !== "object" && findAttribute(attribute.sub, "value") !== undefined;
    return loosenComplex(attribute.sub, isShort ? { value } : value, attribute.name);
  }
  if (attribute.type === "boolean") return booleanFrom(value);
  const text = attribute.type === "string" && (typeof value === "number" || typeof value === "boolean") ? String(value) : value;
  if (typeof text === "string") assertText(attribute.name, text);
  return text;
}

function loosenComplex(attributes: readonly Attribute[], value: unknown, name = "the extension"): Json | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw badRequest("invalidValue", `${name} must be an object`);
  const complex: Json = {};
  for (const [key, inner] of Object.entries(value)) {
    const attribute = findAttribute(attributes, key);
    const loose = attribute === undefined || !isKept(attribute) ? undefined : loosen(attribute, inner);
    if (attribute !== undefined && loose !== undefined) complex[attribute.name] = loose;
  }
  return Object.keys(complex).length === 0 ? undefined : complex;
}

export function assertFewValues(name: string, count: number): void {
  if (count > MAX_VALUES) throw badRequest("invalidValue", `${name} has more than ${MAX_VALUES} values`);
}

/** Entra ID sends "True" and "False". */
function booleanFrom(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const word = value.toLowerCase();
  return word === "true" ? true : word === "false" ? false : value;
}

function assertText(name: string, text: string): void {
  if (text.includes("\0") || !text.isWellFormed()) throw badRequest("invalidValue", `${name} has characters that cannot be kept`);
}

function assertSizes(body: Json): void {
  for (const name of INDEXED) {
    const value = body[name];
    if (typeof value === "string" && value.length > MAX_NAME)
      throw badRequest("invalidValue", `${name} is longer than ${MAX_NAME} characters`);
  }
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_BYTES)
    throw badRequest("invalidValue", `the resource is larger than ${MAX_BYTES} bytes`);
}
