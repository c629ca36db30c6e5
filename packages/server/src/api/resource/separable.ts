/** Tells which messages are separable: joined bodies of them can be separated again. */
import type { DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";

const known = new WeakMap<DescMessage, boolean>();

/**
 * Whether a body of this message never contains a comma and the start of a body. No element of a list within it may start with a uid. Any
 * other object within it follows a colon, and quotes within strings are escaped.
 */
export function isSeparable(schema: DescMessage): boolean {
  const separable = known.get(schema) ?? !hasBodyInList(schema, new Set());
  known.set(schema, separable);
  return separable;
}

/** These hold any JSON. */
const ANY_JSON: ReadonlySet<string> = new Set(["Struct", "Value", "ListValue", "Any"].map((name) => `google.protobuf.${name}`));

function hasBodyInList(schema: DescMessage, seen: Set<DescMessage>): boolean {
  if (ANY_JSON.has(schema.typeName)) return true;
  if (seen.has(schema)) return false;
  seen.add(schema);
  return schema.fields.some(({ message, fieldKind }) => {
    if (message === undefined) return false;
    return (fieldKind === "list" && mayBeginWithUid(message)) || hasBodyInList(message, seen);
  });
}

function mayBeginWithUid({ fields }: DescMessage): boolean {
  const first = fields.findIndex(({ presence }) => presence === FeatureSet_FieldPresence.IMPLICIT);
  // Fields before the first one that is always written may be left out.
  return fields.slice(0, first === -1 ? fields.length : first + 1).some(({ jsonName }) => jsonName === "uid");
}
