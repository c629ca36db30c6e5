/** Remembers the uid of the group or object that a refused call was about, so that its error can lead there. */
import { type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { ConnectError } from "@connectrpc/connect";
import { iam_scope } from "@holt/api/gen/platform/annotations/annotations_pb.ts";

const scopes = new WeakMap<ConnectError, string>();

export function rememberScope(error: ConnectError, schema: DescMessage, message: Message): void {
  scopes.set(error, scopeOf(schema, message));
}

/** Empty for a call that was about no place. */
export function scopeOfFailure(thrown: unknown): string {
  return scopes.get(ConnectError.from(thrown)) ?? "";
}

/** The value of the field that the contract marks as the place of the call. It may be in the resource that the call carries. */
function scopeOf(schema: DescMessage, message: Message): string {
  const fields = reflect(schema, message);
  for (const field of schema.fields) {
    if (field.fieldKind === "scalar" && hasOption(field, iam_scope) && getOption(field, iam_scope)) return String(fields.get(field));
    if (field.fieldKind !== "message" || !fields.isSet(field)) continue;
    const inner = scopeOf(field.message, fields.get(field).message);
    if (inner !== "") return inner;
  }
  return "";
}
