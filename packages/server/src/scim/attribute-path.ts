/** Names of attributes as SCIM writes them: `userName`, `name.givenName`, `urn:…:User:department`. Compared without regard to case (RFC 7643 §2.1). Pure. */
import type { Attribute, Extension, Json, ResourceType } from "./schema.ts";

/** An attribute of a type of resource, or a sub-attribute of one. */
export interface AttributePath {
  /** Whose attribute it is; undefined for the core schema. */
  readonly extension: Extension | undefined;
  readonly attribute: Attribute;
  readonly sub: Attribute | undefined;
}

const NAME = /^([A-Za-z$_][\w$-]*)(?:\.([A-Za-z$_][\w$-]*))?$/;

export function isName(candidate: string, name: string): boolean {
  return candidate.toLowerCase() === name.toLowerCase();
}

export function findAttribute(attributes: readonly Attribute[], name: string): Attribute | undefined {
  return attributes.find((attribute) => isName(attribute.name, name));
}

/** Undefined where the type has no such attribute. */
export function findAttributePath(type: ResourceType, text: string): AttributePath | undefined {
  const schema = schemaOf(type, text);
  if (schema === undefined) return undefined;
  const [, name = "", subName] = NAME.exec(schema.rest) ?? [];
  const attribute = findAttribute(schema.attributes, name);
  if (attribute === undefined) return undefined;
  const sub = subName === undefined ? undefined : findAttribute(attribute.sub, subName);
  if (subName !== undefined && sub === undefined) return undefined;
  return { extension: schema.extension, attribute, sub };
}

/** The extension that the text names and nothing below it. */
export function findExtension(type: ResourceType, text: string): Extension | undefined {
  return type.extensions.find(({ urn }) => isName(urn, text));
}

/** A URN has dots and colons itself, so it is known by what it begins with. */
function schemaOf(type: ResourceType, text: string) {
  if (!/^urn:/i.test(text)) return { extension: undefined, attributes: type.attributes, rest: text };
  const own = restAfter(type.urn, text);
  if (own !== undefined) return { extension: undefined, attributes: type.attributes, rest: own };
  for (const extension of type.extensions) {
    const rest = restAfter(extension.urn, text);
    if (rest !== undefined) return { extension, attributes: extension.attributes, rest };
  }
  return undefined;
}

function restAfter(urn: string, text: string): string | undefined {
  return isName(text.slice(0, urn.length + 1), `${urn}:`) ? text.slice(urn.length + 1) : undefined;
}

/** The values at the path, those of several-valued attributes one by one. An attribute with sub-attributes stands for its `value` where `ofValue` says so (RFC 7644 §3.4.2.2). */
export function valuesAt(resource: Json, { extension, attribute, sub }: AttributePath, ofValue: boolean): unknown[] {
  const container = extension === undefined ? resource : (resource[extension.urn] as Json | undefined);
  const values = listOf(container?.[attribute.name]);
  const name = sub?.name ?? (ofValue && attribute.sub.some(({ name }) => name === "value") ? "value" : undefined);
  return name === undefined ? values : values.flatMap((value) => listOf((value as Json)[name]));
}

export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
