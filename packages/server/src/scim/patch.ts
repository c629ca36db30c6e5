/**
 * Applies the operations of a PATCH to a resource (RFC 7644 §3.5.2.1 to §3.5.2.3). Returns a new resource that must
 * still be normalized. Pure.
 */

import { isRecord } from "../lib/is-record.ts";
import { asList } from "./attribute-path.ts";
import type { Filter } from "./filter.ts";
import { matchesFilter } from "./match.ts";
import { assertTextSize, assertValueCount, normalizeSingle, normalizeValue } from "./normalize.ts";
import type { PatchOperation, PatchTarget, PatchVerb } from "./patch-request.ts";
import type { Attribute, Json } from "./schema.ts";
import { badRequest } from "./scim-error.ts";

type AttributeTarget = Extract<PatchTarget, { filter: unknown }>;

export function applyPatch(body: Json, operations: readonly PatchOperation[]): Json {
  const patched = structuredClone(body);
  for (const { verb, target, value } of operations) {
    if (target.attribute === undefined) applyToExtension(patched, verb, target.extension, value);
    else applyToAttribute(ensureContainer(patched, target), verb, target, value);
    // An operation can give all values of an attribute the same long text.
    assertTextSize(patched);
  }
  return patched;
}

function ensureContainer(body: Json, { extension }: PatchTarget): Json {
  if (extension === undefined) return body;
  body[extension.urn] ??= {};
  return body[extension.urn] as Json;
}

function applyToExtension(body: Json, verb: PatchVerb, { urn, attributes }: NonNullable<PatchTarget["extension"]>, value: unknown): void {
  if (verb === "remove" || value === null) {
    delete body[urn];
    return;
  }
  if (!isRecord(value)) throw badRequest("invalidValue", "the value of an extension must be an object");
  const container = (body[urn] ?? {}) as Json;
  setAttributes(container, verb, attributes, value);
  body[urn] = container;
}

function applyToAttribute(container: Json, verb: PatchVerb, target: AttributeTarget, value: unknown): void {
  const { attribute, filter, sub } = target;
  const isRemoval = verb === "remove" || value === null;
  if (filter !== undefined) {
    if (isRemoval) removeMatching(container, target);
    else setMatching(container, verb, target, value);
  } else if (sub !== undefined) {
    if (isRemoval) removeSub(container, attribute, sub);
    else setSub(container, attribute, sub, value);
  } else if (!isRemoval) setAttribute(container, verb, attribute, value);
  else if (attribute.multiValued && value !== undefined && value !== null) removeValues(container, attribute, value);
  else delete container[attribute.name];
}

/** Attributes that are not given stay unchanged. */
function setAttributes(container: Json, verb: PatchVerb, attributes: readonly Attribute[], value: Json): void {
  for (const attribute of attributes) {
    const key = Object.keys(value).find((name) => name.toLowerCase() === attribute.name.toLowerCase());
    if (key !== undefined) setAttribute(container, verb, attribute, value[key]);
  }
}

function setAttribute(container: Json, verb: PatchVerb, attribute: Attribute, value: unknown): void {
  if (isRecord(value) && attribute.type === "complex" && !attribute.multiValued) {
    const inner = { ...(container[attribute.name] as Json | undefined) };
    setAttributes(inner, verb, attribute.sub, value);
    container[attribute.name] = inner;
    return;
  }
  const normalized = normalizeValue(attribute, value);
  const { name } = attribute;
  if (normalized === undefined) {
    if (verb === "replace") delete container[name];
  } else if (attribute.multiValued) {
    container[name] = verb === "replace" ? normalized : mergeValues(name, asList(container[name]), normalized as unknown[]);
  } else if (isRecord(normalized)) {
    // Sub-attributes that are not given stay unchanged.
    container[name] = { ...(container[name] as Json | undefined), ...normalized };
  } else {
    container[name] = normalized;
  }
}

/** Adds only values that are not there yet. Those that are there stay as they are (RFC 7644 §3.5.2.1). */
function mergeValues(name: string, values: readonly unknown[], added: readonly unknown[]): unknown[] {
  const given = new Set(added.map(keyOf));
  const result = added.some(isPrimary) ? values.map((value) => (given.has(keyOf(value)) ? value : withoutPrimary(value))) : [...values];
  const known = new Set(values.map(keyOf));
  for (const value of added) {
    const key = keyOf(value);
    if (!known.has(key)) result.push(value);
  }
  assertValueCount(name, result.length);
  return result;
}

/** Equal for equal values, whose sub-attributes can have any order. */
function keyOf(value: unknown): string {
  if (!isRecord(value)) return JSON.stringify(value);
  const attributes = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return JSON.stringify(attributes.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function removeValues(container: Json, { name, sub }: Attribute, value: unknown): void {
  const removed = (Array.isArray(value) ? value : [value]).map((each) => (isRecord(each) && sub.length > 0 ? each.value : each));
  container[name] = asList(container[name]).filter((each) => !removed.includes(isRecord(each) ? each.value : each));
}

function setSub(container: Json, attribute: Attribute, sub: Attribute, value: unknown): void {
  const { name, multiValued } = attribute;
  const normalized = normalizeValue(sub, value);
  const values = asList(container[name]) as Json[];
  const changed = (values.length === 0 ? [{}] : values).map((each) => ({ ...each, [sub.name]: normalized }));
  container[name] = multiValued ? changed : changed[0];
}

function removeSub(container: Json, { name, multiValued }: Attribute, sub: Attribute): void {
  const changed = (asList(container[name]) as Json[]).map((each) => ({ ...each, [sub.name]: undefined }));
  container[name] = multiValued ? changed : changed[0];
}

function removeMatching(container: Json, { attribute, filter, sub }: AttributeTarget): void {
  const values = asList(container[attribute.name]) as Json[];
  const matches = (each: Json) => matchesFilter(filter as Filter, each);
  container[attribute.name] =
    sub === undefined
      ? values.filter((each) => !matches(each))
      : values.map((each) => (matches(each) ? { ...each, [sub.name]: undefined } : each));
}

/**
 * If no value matches, creates the value that the filter describes: Entra ID sets `emails[type eq "work"].value` of
 * users that have no such email yet.
 */
function setMatching(container: Json, verb: PatchVerb, { attribute, filter, sub }: AttributeTarget, value: unknown): void {
  const normalized = (sub === undefined ? normalizeSingle(attribute, value) : { [sub.name]: normalizeValue(sub, value) }) as Json;
  let values = asList(container[attribute.name]) as Json[];
  if (normalized?.primary === true)
    values = values.map((each) => (matchesFilter(filter as Filter, each) ? each : (withoutPrimary(each) as Json)));
  if (values.some((each) => matchesFilter(filter as Filter, each))) {
    const isWhole = verb === "replace" && sub === undefined;
    container[attribute.name] = values.map((each) =>
      matchesFilter(filter as Filter, each) ? (isWhole ? normalized : { ...each, ...normalized }) : each,
    );
    return;
  }
  const described = valueDescribedBy(filter as Filter);
  if (described === undefined) throw badRequest("noTarget", `no value of ${attribute.name} matches the filter`);
  container[attribute.name] = mergeValues(attribute.name, values, [normalizeSingle(attribute, { ...described, ...normalized })]);
}

/** The value described by a filter of equalities; undefined for any other filter. */
function valueDescribedBy(filter: Filter): Json | undefined {
  if (filter.kind === "compare" && filter.operator === "eq") return { [filter.path.attribute.name]: filter.value };
  if (filter.kind !== "and") return undefined;
  const parts = filter.terms.map(valueDescribedBy);
  return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined;
}

function isPrimary(value: unknown): boolean {
  return isRecord(value) && value.primary === true;
}

/** Only one value may be primary; the latest wins (RFC 7644 §3.5.2). */
function withoutPrimary(value: unknown): unknown {
  return isPrimary(value) ? { ...(value as Json), primary: false } : value;
}
