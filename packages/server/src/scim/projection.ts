/** Selects the attributes of a response: `attributes` and `excludedAttributes` (RFC 7644 §3.9). Pure. */
import { type AttributePath, findAttributePath, findExtension } from "./attribute-path.ts";
import type { Extension, Json, ResourceType } from "./schema.ts";

export interface Projection {
  /** Names of attributes; undefined for all. */
  readonly attributes: readonly string[] | undefined;
  readonly excluded: readonly string[];
}

/** Always returned. */
const ALWAYS = ["schemas", "id"];

/** Whether responses contain the attribute, so that expensive attributes are loaded only if needed. */
export function isReturned({ attributes, excluded }: Projection, type: ResourceType, name: string): boolean {
  if (attributes !== undefined) return attributes.some((each) => findAttributePath(type, each)?.attribute.name === name);
  return !excluded.some((each) => {
    const path = findAttributePath(type, each);
    return path?.attribute.name === name && path.sub === undefined;
  });
}

export function project(resource: Json, type: ResourceType, { attributes, excluded }: Projection): Json {
  if (attributes === undefined) return excluded.reduce((rest, name) => removeAttribute(rest, type, name), resource);
  const chosen: Json = {};
  for (const name of ALWAYS) chosen[name] = resource[name];
  for (const name of attributes) copyAttribute(chosen, resource, type, name);
  return chosen;
}

function copyAttribute(chosen: Json, resource: Json, type: ResourceType, name: string): void {
  const extension = findExtension(type, name);
  const path = extension === undefined ? findAttributePath(type, name) : undefined;
  if (extension !== undefined && resource[extension.urn] !== undefined) chosen[extension.urn] = resource[extension.urn];
  if (path === undefined) return;
  const from = containerOf(resource, path.extension);
  const value = from?.[path.attribute.name];
  if (value === undefined) return;
  const kept = path.sub === undefined ? value : mapValues(value, (each) => pick(each, path.sub?.name as string));
  if (path.extension === undefined) chosen[path.attribute.name] = mergeParts(chosen[path.attribute.name], kept, path);
  else chosen[path.extension.urn] = { ...(chosen[path.extension.urn] as Json | undefined), [path.attribute.name]: kept };
}

/** `name.givenName,name.familyName` selects both. */
function mergeParts(known: unknown, added: unknown, { sub }: AttributePath): unknown {
  if (known === undefined || sub === undefined) return added;
  if (Array.isArray(known)) return known.map((each: Json, i) => ({ ...each, ...((added as Json[])[i] ?? {}) }));
  return { ...(known as Json), ...(added as Json) };
}

function removeAttribute(resource: Json, type: ResourceType, name: string): Json {
  const extension = findExtension(type, name);
  if (extension !== undefined) return omit(resource, extension.urn);
  const path = findAttributePath(type, name);
  if (path === undefined || ALWAYS.includes(path.attribute.name)) return resource;
  const from = containerOf(resource, path.extension);
  if (from?.[path.attribute.name] === undefined) return resource;
  const left =
    path.sub === undefined
      ? omit(from, path.attribute.name)
      : {
          ...from,
          [path.attribute.name]: mapValues(from[path.attribute.name], (each) => omit(each, path.sub?.name as string)),
        };
  return path.extension === undefined ? left : { ...resource, [path.extension.urn]: left };
}

function containerOf(resource: Json, extension: Extension | undefined): Json | undefined {
  return extension === undefined ? resource : (resource[extension.urn] as Json | undefined);
}

function mapValues(value: unknown, each: (value: Json) => Json): unknown {
  return Array.isArray(value) ? value.map(each) : each(value as Json);
}

function pick(value: Json, name: string): Json {
  return value[name] === undefined ? {} : { [name]: value[name] };
}

function omit(value: Json, name: string): Json {
  const { [name]: _, ...rest } = value;
  return rest;
}
