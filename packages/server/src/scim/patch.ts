/** Applies the operations of a PATCH to a resource (RFC 7644 §3.5.2.1 to 3.5.2.3). Pure: it gives a new resource, which is still to be normalized. */
import { isDeepStrictEqual } from "node:util";
import { listOf } from "./attribute-path.ts";
import type { Filter } from "./filter.ts";
import { isMatch } from "./match.ts";
import { assertFewValues, loosen, loosenOne } from "./normalize.ts";
import { isObject, type PatchOperation, type PatchTarget, type PatchVerb } from "./patch-request.ts";
import type { Attribute, Json } from "./schema.ts";
import { badRequest } from "./scim-error.ts";

type AttributeTarget = Extract<PatchTarget, { filter: unknown }>;

export function applyPatch(body: Json, operations: readonly PatchOperation[]): Json {
  const patched = structuredClone(body);
  for (const { verb, target, value } of operations) {
    if (target.attribute === undefined) applyToExtension(patched, verb, target.extension, value);
    else applyToAttribute(containerOf(patched, target), verb, target, value);
  }
  return patched;
}

function containerOf(body: Json, { extension }: PatchTarget): Json {
  if (extension === undefined) return body;
  body[extension.urn] ??= {};
  return body[extension.urn] as Json;
}

function applyToExtension(body: Json, verb: PatchVerb, { urn, attributes }: NonNullable<PatchTarget["extension"]>, value: unknown): void {
  if (verb === "remove" || value === null) {
    delete body[urn];
    return;
  }
  if (!isObject(value)) throw badRequest("invalidValue", "the value of an extension must be an object");
  const container = (body[urn] ?? {}) as Json;
  for (const attribute of attributes) {
    const key = Object.keys(value).find((name) => name.toLowerCase() === attribute.name.toLowerCase());
    if (key !== undefined) setWhole(container, verb, attribute, value[key]);
  }
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
  } else if (!isRemoval) setWhole(container, verb, attribute, value);
  else if (attribute.multiValued && value !== undefined && value !== null) removeValues(container, attribute, value);
  else delete container[attribute.name];
}

function setWhole(container: Json, verb: PatchVerb, attribute: Attribute, value: unknown): void {
  const loose = loosen(attribute, value);
  const { name } = attribute;
  if (loose === undefined) {
    if (verb === "replace") delete container[name];
  } else if (attribute.multiValued) {
    container[name] = verb === "replace" ? loose : appended(name, listOf(container[name]), loose as unknown[]);
  } else if (isObject(loose)) {
    // Sub-attributes that are not given stay as they are.
    container[name] = { ...(container[name] as Json | undefined), ...loose };
  } else {
    container[name] = loose;
  }
}

/** A value that is there already is not added again. */
function appended(name: string, values: readonly unknown[], added: readonly unknown[]): unknown[] {
  const result = added.some(isPrimary) ? values.map(withoutPrimary) : [...values];
  for (const value of added) if (!values.some((known) => isDeepStrictEqual(known, value))) result.push(value);
  assertFewValues(name, result.length);
  return result;
}

function removeValues(container: Json, { name, sub }: Attribute, value: unknown): void {
  const removed = (Array.isArray(value) ? value : [value]).map((each) => (isObject(each) && sub.length > 0 ? each.value : each));
  container[name] = listOf(container[name]).filter((each) => !removed.includes(isObject(each) ? each.value : each));
}

function setSub(container: Json, attribute: Attribute, sub: Attribute, value: unknown): void {
  const { name, multiValued } = attribute;
  const loose = loosen(sub, value);
  const values = listOf(container[name]) as Json[];
  const changed = (values.length === 0 ? [{}] : values).map((each) => ({ ...each, [sub.name]: loose }));
  container[name] = multiValued ? changed : changed[0];
}

function removeSub(container: Json, { name, multiValued }: Attribute, sub: Attribute): void {
  const changed = (listOf(container[name]) as Json[]).map((each) => ({ ...each, [sub.name]: undefined }));
  container[name] = multiValued ? changed : changed[0];
}

function removeMatching(container: Json, { attribute, filter, sub }: AttributeTarget): void {
  const values = listOf(container[attribute.name]) as Json[];
  const isHit = (each: Json) => isMatch(filter as Filter, each);
  container[attribute.name] =
    sub === undefined
      ? values.filter((each) => !isHit(each))
      : values.map((each) => (isHit(each) ? { ...each, [sub.name]: undefined } : each));
}

/** Where nothing matches, the value that the filter describes is made: Entra ID sets `emails[type eq "work"].value` of who has none yet. */
function setMatching(container: Json, verb: PatchVerb, { attribute, filter, sub }: AttributeTarget, value: unknown): void {
  const loose = (sub === undefined ? loosenOne(attribute, value) : { [sub.name]: loosen(sub, value) }) as Json;
  let values = listOf(container[attribute.name]) as Json[];
  if (loose?.primary === true) values = values.map((each) => (isMatch(filter as Filter, each) ? each : (withoutPrimary(each) as Json)));
  if (values.some((each) => isMatch(filter as Filter, each))) {
    const isWhole = verb === "replace" && sub === undefined;
    container[attribute.name] = values.map((each) => (isMatch(filter as Filter, each) ? (isWhole ? loose : { ...each, ...loose }) : each));
    return;
  }
  const described = describedBy(filter as Filter);
  if (described === undefined) throw badRequest("noTarget", `no value of ${attribute.name} matches the filter`);
  container[attribute.name] = appended(attribute.name, values, [loosenOne(attribute, { ...described, ...loose })]);
}

/** The one value that fulfils a filter of equalities; undefined for any other filter. */
function describedBy(filter: Filter): Json | undefined {
  if (filter.kind === "compare" && filter.operator === "eq") return { [filter.path.attribute.name]: filter.value };
  if (filter.kind !== "and") return undefined;
  const parts = filter.terms.map(describedBy);
  return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined;
}

function isPrimary(value: unknown): boolean {
  return isObject(value) && value.primary === true;
}

/** Only one value may be the primary one; the latest is (RFC 7644 §3.5.2). */
function withoutPrimary(value: unknown): unknown {
  return isPrimary(value) ? { ...(value as Json), primary: false } : value;
}
