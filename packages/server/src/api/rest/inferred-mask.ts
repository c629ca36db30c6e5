/** Infers the field mask of a PATCH without one: the fields in its body, including empty ones (AIP-134), but not `null`, which means absent. */
import { create, type DescField, type DescMessage, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { fieldsBySpelling } from "../../lib/field-spellings.ts";
import { hasNull } from "../../lib/proto-json-decode.ts";
import { isWellKnown } from "../../lib/proto-json-well-known.ts";

/** @param json the resource as the client sent it; it has been decoded as `resource` before */
export function inferMask(resource: DescMessage, json: JsonObject): FieldMask {
  const paths = new Set<string>();
  collect(resource, json, "", paths);
  return create(FieldMaskSchema, { paths: [...paths] });
}

function collect(message: DescMessage, json: JsonObject, prefix: string, paths: Set<string>): void {
  const fields = fieldsBySpelling(message);
  for (const [key, value] of Object.entries(json)) {
    const field = fields.get(key);
    if (field === undefined || (value === null && !hasNull(field))) continue;
    const path = prefix + field.name;
    if (hasSubpaths(field, value)) collect(field.message as DescMessage, value as JsonObject, `${path}.`, paths);
    else paths.add(path);
  }
}

/** Lists and maps are replaced as a whole, as are empty messages and messages with a special JSON form, such as times. */
function hasSubpaths(field: DescField, value: JsonValue): boolean {
  if (field.fieldKind !== "message" || isWellKnown(field.message)) return false;
  return typeof value === "object" && value !== null && Object.values(value).some((each) => each !== null);
}
