/**
 * Parses attribute names of SCIM: `userName`, `name.givenName`, `urn:…:User:department`. Ignores case (RFC 7643 §2.1).
 * Pure.
 */
import type { Attribute, Extension, Json, ResourceType } from "./schema.ts";

/** An attribute of a type of resource, or a sub-attribute of one. */
export interface AttributePath {
  /** The extension that defines the attribute; undefined for the core schema. */
  readonly extension: Extension | undefined;
  readonly attribute: Attribute;
  readonly sub: Attribute | undefined;
}

const NAME = /^([A-Za-z$_][\w$-]*)(?:\.([A-Za-z$_][\w$-]*))?$/;

function isName(candidate: string, name: string): boolean {
  return candidate.toLowerCase() === name.toLowerCase();
}

export function findAttribute(attributes: readonly Attribute[], name: string): Attribute | undefined {
  return attributes.find((attribute) => isName(attribute.name, name));
}

/** @returns undefined if the type has no such attribute */
export function findAttributePath(type: ResourceType, text: string): AttributePath | undefined {
  const schema = splitUrn(type, text);
  if (schema === undefined) return undefined;
  const [, name = "", subName] = NAME.exec(schema.rest) ?? [];
  const attribute = findAttribute(schema.attributes, name);
  if (attribute === undefined) return undefined;
  const sub = subName === undefined ? undefined : findAttribute(attribute.sub, subName);
  if (subName !== undefined && sub === undefined) return undefined;
  return { extension: schema.extension, attribute, sub };
}

/** Finds an extension by its whole URN. */
export function findExtension(type: ResourceType, text: string): Extension | undefined {
  return type.extensions.find(({ urn }) => isName(urn, text));
}

/** Splits off the schema's URN by prefix, since URNs contain dots and colons themselves. */
function splitUrn(type: ResourceType, text: string) {
  if (!/^urn:/i.test(text)) return { extension: undefined, attributes: type.attributes, rest: text };
  const own = pathAfterUrn(type.urn, text);
  if (own !== undefined) return { extension: undefined, attributes: type.attributes, rest: own };
  for (const extension of type.extensions) {
    const rest = pathAfterUrn(extension.urn, text);
    if (rest !== undefined) return { extension, attributes: extension.attributes, rest };
  }
  return undefined;
}

function pathAfterUrn(urn: string, text: string): string | undefined {
  return isName(text.slice(0, urn.length + 1), `${urn}:`) ? text.slice(urn.length + 1) : undefined;
}

/**
 * Values at the path; each value of a multi-valued attribute is separate.
 * @param ofValue whether an attribute with sub-attributes stands for its `value` (RFC 7644 §3.4.2.2)
 */
export function valuesAt(resource: Json, { extension, attribute, sub }: AttributePath, ofValue: boolean): unknown[] {
  const container = extension === undefined ? resource : (resource[extension.urn] as Json | undefined);
  const values = asList(container?.[attribute.name]);
  const name = sub?.name ?? (ofValue && attribute.sub.some(({ name }) => name === "value") ? "value" : undefined);
  return name === undefined ? values : values.flatMap((value) => asList((value as Json)[name]));
}

export function asList(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
