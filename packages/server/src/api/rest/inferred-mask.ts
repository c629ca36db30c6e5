/** The field mask of a PATCH that names none: the fields that its body has, be they empty (AIP-134). */
import { create, type DescField, type DescMessage, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { fieldsBySpelling } from "../../lib/field-spellings.ts";

/** @param json the resource as the client sent it, already known to fit `resource` */
export function inferMask(resource: DescMessage, json: JsonObject): FieldMask {
  const paths = new Set<string>();
  collect(resource, json, "", paths);
  return create(FieldMaskSchema, { paths: [...paths] });
}

function collect(message: DescMessage, json: JsonObject, prefix: string, paths: Set<string>): void {
  const fields = fieldsBySpelling(message);
  for (const [key, value] of Object.entries(json)) {
    const field = fields.get(key);
    if (field === undefined) continue;
    const path = prefix + field.name;
    if (hasPathsOfItsOwn(field, value)) collect(field.message as DescMessage, value as JsonObject, `${path}.`, paths);
    else paths.add(path);
  }
}

/** A list or a map is replaced as a whole; so is a message that is sent empty, or has JSON of its own such as a time. */
function hasPathsOfItsOwn(field: DescField, value: JsonValue): boolean {
  if (field.fieldKind !== "message" || field.message.file.proto.package === "google.protobuf") return false;
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
