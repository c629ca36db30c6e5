/** The names by which a client may call a field: as in the proto file, as in JSON, and in camelCase where JSON's name is another. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";

const spellings = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Every accepted spelling of every field of a message. No two fields can claim one spelling: protoc refuses clashing JSON names. */
export function fieldsBySpelling(message: DescMessage): ReadonlyMap<string, DescField> {
  const known = spellings.get(message);
  if (known !== undefined) return known;
  const fields = new Map<string, DescField>();
  for (const field of message.fields) {
    for (const name of [protoCamelCase(field.name), field.jsonName, field.name]) fields.set(name, field);
  }
  spellings.set(message, fields);
  return fields;
}
