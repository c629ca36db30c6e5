/** Encodes long messages in parts: each element of a long list of messages is one, and so are those of long lists within them. */
import { type DescField, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Break } from "../../jobs/breaks.ts";
import { compileJsonEncoder, compileJsonField } from "../../lib/proto-json.ts";
import { isWellKnown } from "../../lib/proto-json-well-known.ts";

/** Depth of the lists that are encoded in parts. */
const LEVELS = 2;
/** Messages without a list of more elements are one part. */
const SHORT_LIST = 20;

type MessageList = DescField & { readonly fieldKind: "list"; readonly message: DescMessage };

/** The JSON text of the message. */
export function* jsonParts(schema: DescMessage, message: Message, levels = LEVELS): Generator<string> {
  if (levels === 0 || !hasLongList(schema, message)) return yield compileJsonEncoder(schema)(message);
  let separator = "{";
  for (const field of schema.fields) {
    const text = isMessageList(field) ? `${JSON.stringify(field.jsonName)}:` : compileJsonField(field)(fieldsOf(message), "");
    if (text === "") continue;
    yield separator;
    yield text;
    if (isMessageList(field)) yield* elementsInJson(field, message, levels);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}

function* elementsInJson(field: MessageList, message: Message, levels: number): Generator<string> {
  let separator = "[";
  for (const element of elementsOf(field, message)) {
    yield separator;
    yield* jsonParts(field.message, element, levels - 1);
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

/** Writes the lists behind the other fields. */
export async function binaryInParts(schema: DescMessage, message: Message, pause: Break, levels = LEVELS): Promise<Uint8Array> {
  if (levels === 0 || !hasLongList(schema, message)) return toBinary(schema, message);
  const lists = schema.fields.filter(isMessageList);
  const withoutLists = { ...message, ...Object.fromEntries(lists.map(({ localName }) => [localName, []])) };
  const writer = new BinaryWriter().raw(toBinary(schema, withoutLists));
  for (const field of lists)
    for (const element of elementsOf(field, message)) {
      const bytes = await binaryInParts(field.message, element, pause, levels - 1);
      writer.tag(field.number, WireType.LengthDelimited).bytes(bytes);
      await pause();
    }
  return writer.finish();
}

/** Whether a list of the message is long, or may hold elements with long lists. */
function hasLongList(schema: DescMessage, message: Message): boolean {
  return schema.fields.some((field) => isMessageList(field) && isLong(elementsOf(field, message), field.message));
}

function isLong(elements: readonly Message[], schema: DescMessage): boolean {
  return elements.length > SHORT_LIST || elements.some((element) => hasLongList(schema, element));
}

function isMessageList(field: DescField): field is MessageList {
  return field.fieldKind === "list" && field.message !== undefined && !isWellKnown(field.message);
}

function elementsOf({ localName }: MessageList, message: Message): readonly Message[] {
  return fieldsOf(message)[localName] as readonly Message[];
}

function fieldsOf(message: Message): Readonly<Record<string, unknown>> {
  return message as unknown as Readonly<Record<string, unknown>>;
}
