/** Maps the names that clients may use for a field: its proto name, its JSON name and its camelCase name. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";

const spellings = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Fields of a message by accepted spelling. Spellings are unique, because protoc rejects clashing JSON names. */
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
