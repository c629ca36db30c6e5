/** Keeps secrets out of events: the contract marks the fields that hold them with `debug_redact`. */
import { clearField, clone, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/** Messages of which subscribers learn these fields and nothing else. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  "platform.iam.v2.GroupInvite": ["uid", "expiration_time"],
};

/** The message, or a copy of it without what is marked where something is. */
export function withoutSecrets(schema: DescMessage, message: Message): Message {
  if (!hasSecrets(schema)) return message;
  const copy = clone(schema, message);
  clearSecrets(reflect(schema, copy));
  return copy;
}

const known = new Map<DescMessage, boolean>();

function hasSecrets(schema: DescMessage): boolean {
  const answer = known.get(schema) ?? holdsSecrets(schema, new Set());
  known.set(schema, answer);
  return answer;
}

/** @param seen messages on the way here: one that contains itself adds nothing */
function holdsSecrets(schema: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  return schema.fields.some((field) => isSecret(field) || (field.message !== undefined && holdsSecrets(field.message, seen)));
}

function isSecret({ parent, name, proto }: DescField): boolean {
  return proto.options?.debugRedact === true || KEPT[parent.typeName]?.includes(name) === false;
}

function clearSecrets(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (isSecret(field)) clearField(message.message, field);
    else if (field.message === undefined || !message.isSet(field)) continue;
    else if (field.fieldKind === "message") clearSecrets(message.get(field));
    else if (field.fieldKind === "list") for (const item of message.get(field)) clearSecrets(item as ReflectMessage);
    else if (field.fieldKind === "map") for (const [, item] of message.get(field)) clearSecrets(item as ReflectMessage);
  }
}
