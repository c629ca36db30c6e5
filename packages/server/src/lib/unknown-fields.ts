/** Finds the keys of a JSON document that its message does not have. */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { fieldsBySpelling } from "./field-spellings.ts";
import { isWellKnown } from "./proto-json-well-known.ts";

/**
 * Paths of unknown keys, such as `claim_match.isuer`, in the order of the document.
 * @param json a value that was decoded as `schema` before, which bounds its nesting
 * @param limit maximum number of paths
 */
export function findUnknownFields(schema: DescMessage, json: JsonValue, limit: number): readonly string[] {
  const found: string[] = [];
  collect({ schema, json, prefix: "" }, found, limit);
  return found;
}

interface Found {
  readonly found: string[];
  readonly limit: number;
}

interface Place {
  readonly schema: DescMessage;
  readonly json: JsonValue;
  readonly prefix: string;
}

function collect({ schema, json, prefix }: Place, found: string[], limit: number): void {
  if (!isObject(json) || isWellKnown(schema)) return;
  const fields = fieldsBySpelling(schema);
  for (const key of Object.keys(json)) {
    if (found.length >= limit) return;
    const field = fields.get(key);
    if (field === undefined) found.push(prefix + key);
    else if (field.message !== undefined) collectField(field, json[key] as JsonValue, `${prefix}${field.name}`, { found, limit });
  }
}

function collectField(field: DescField, json: JsonValue, path: string, { found, limit }: Found): void {
  const schema = field.message as DescMessage;
  if (field.fieldKind === "message") collect({ schema, json, prefix: `${path}.` }, found, limit);
  else if (typeof json === "object" && json !== null) collectItems(schema, json, path, { found, limit });
}

/** The items of a list, or the values of a map. */
function collectItems(schema: DescMessage, json: object, path: string, { found, limit }: Found): void {
  for (const [key, item] of Object.entries(json)) {
    if (found.length >= limit) return;
    collect({ schema, json: item, prefix: `${path}[${key}].` }, found, limit);
  }
}

function isObject(json: JsonValue): json is Record<string, JsonValue> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
