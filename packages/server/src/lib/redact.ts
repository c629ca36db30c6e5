/** Removes secrets from a message before its event or its audit entry is stored. The contract marks secrets with `debug_redact`. */
import { clone, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/** The only fields that subscribers see of these messages. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  "platform.iam.v1.GroupInvite": ["id", "expiration"],
  "platform.iam.v2.GroupInvite": ["uid", "expiration_time"],
};

/** The message without its secrets; a copy if its type can hold secrets. */
export function redacted<Desc extends DescMessage>(schema: Desc, message: Message): Message {
  if (!holdsSecrets(schema)) return message;
  const copy = clone(schema, message as never) as Message;
  redact(reflect(schema, copy as never));
  return copy;
}

function isSecret({ parent, name, proto }: DescField): boolean {
  const kept = KEPT[parent.typeName];
  return (kept !== undefined && !kept.includes(name)) || proto.options?.debugRedact === true;
}

function redact(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (isSecret(field)) message.clear(field);
    else for (const inner of messagesIn(message, field)) if (holdsSecrets(inner.desc)) redact(inner);
  }
}

function messagesIn(message: ReflectMessage, field: DescField): Iterable<ReflectMessage> {
  if (field.fieldKind === "message") return [message.get(field)];
  if (field.fieldKind === "list" && field.listKind === "message") return message.get(field) as Iterable<ReflectMessage>;
  if (field.fieldKind === "map" && field.mapKind === "message") return message.get(field).values() as Iterable<ReflectMessage>;
  return [];
}

const known = new Map<DescMessage, boolean>();

/** Whether a field of the message, or of a message inside it, is secret. */
export function holdsSecrets(schema: DescMessage): boolean {
  let holds = known.get(schema);
  if (holds === undefined) {
    holds = [...reachable(schema, new Set())].some((message) => message.fields.some(isSecret));
    known.set(schema, holds);
  }
  return holds;
}

function reachable(schema: DescMessage, found: Set<DescMessage>): Set<DescMessage> {
  if (found.has(schema)) return found;
  found.add(schema);
  for (const { message } of schema.fields) if (message !== undefined) reachable(message, found);
  return found;
}
