/**
 * Encodes messages as the JSON that Holt answers and stores (canonical proto-JSON). Fields of implicit presence are
 * always written, unset fields are omitted, keys are in declaration order, and times have three fraction digits. In
 * messages of version 1, an unset message is `null` and an empty page token is written, as clients of that version know.
 */
import { type DescEnum, type DescField, type DescMessage, type Message, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { compileJsonDecoder } from "./proto-json-decode.ts";
import { compileWellKnownEncoder } from "./proto-json-well-known.ts";
import { quote } from "./quote.ts";

/** Encodes a value of protobuf-es as JSON text. */
type ValueEncoder = (value: never) => string;
/** Appends a field to the JSON text of its message, which already holds the preceding fields. */
type FieldWriter = (message: Readonly<Record<string, unknown>>, text: string) => string;

const encoders = new WeakMap<DescMessage, ValueEncoder>();

/**
 * The encoder of a message, compiled once per descriptor. It throws on values without JSON form, such as a time before
 * year 1.
 */
export function compileJsonEncoder<Desc extends DescMessage>(schema: Desc): (message: MessageShape<Desc>) => string {
  return messageEncoder(schema) as (message: Message) => string;
}

/**
 * Decodes text that such an encoder wrote, e.g. a stored body.
 * @throws JsonFieldError where a value does not fit its field; SyntaxError where the text is not JSON
 */
export function messageFromJson<Desc extends DescMessage>(schema: Desc, text: string): MessageShape<Desc> {
  return compileJsonDecoder(schema)(JSON.parse(text));
}

function messageEncoder(schema: DescMessage): ValueEncoder {
  const known = encoders.get(schema);
  if (known !== undefined) return known;
  const encode: ValueEncoder = compileWellKnownEncoder(schema) ?? compileWrapper(schema) ?? compileMessage(schema);
  encoders.set(schema, encode);
  return encode;
}

function compileMessage(schema: DescMessage): ValueEncoder {
  const writers: FieldWriter[] = [];
  const encode = (message: Record<string, unknown>): string => {
    let text = "";
    for (const write of writers) text = write(message, text);
    return `{${text}}`;
  };
  // Cached before its fields are compiled, because a message may contain itself.
  encoders.set(schema, encode);
  for (const field of schema.fields) writers.push(compileJsonField(field));
  return encode;
}

/** The encoder of one field, which appends to the text of the fields before it; "" for none. */
export function compileJsonField(field: DescField): FieldWriter {
  const encode = fieldEncoder(field) as (value: unknown) => string;
  const first = `${JSON.stringify(field.jsonName)}:`;
  const next = `,${first}`;
  const name = field.localName;
  if (field.oneof !== undefined) {
    const group = field.oneof.localName;
    return (message, text) => {
      const member = message[group] as { case: string | undefined; value?: unknown };
      return member.case === name ? text + (text === "" ? first : next) + encode(member.value) : text;
    };
  }
  const isVersionOne = hasVersionOneJson(field.parent);
  // The last page of a list has no token, so an empty token is omitted although its presence is implicit.
  const absent = !isVersionOne && field.name === "next_page_token" && field.scalar === ScalarType.STRING ? "" : undefined;
  const [firstNull, nextNull] = isVersionOne && isNullIfUnset(field) ? [`${first}null`, `${next}null`] : ["", ""];
  return (message, text) => {
    const value = message[name];
    if (value === undefined) return text + (text === "" ? firstNull : nextNull);
    return value === absent ? text : text + (text === "" ? first : next) + encode(value);
  };
}

function hasVersionOneJson({ typeName }: DescMessage): boolean {
  return /^platform\.[a-z]+\.v1\./.test(typeName);
}

/** Whether JSON of version 1 has `null` for the unset field: a single message that is neither `optional` nor in a oneof. */
export function isNullIfUnset({ fieldKind, oneof, proto }: DescField): boolean {
  return fieldKind === "message" && oneof === undefined && !proto.proto3Optional;
}

function fieldEncoder(field: DescField): ValueEncoder {
  switch (field.fieldKind) {
    case "list":
      return compileList(elementEncoder(field.listKind, field.message, field.enum, field.scalar));
    case "map":
      return compileMap(elementEncoder(field.mapKind, field.message, field.enum, field.scalar));
    case "message":
      // protobuf-es unwraps google.protobuf.StringValue and similar wrappers in singular fields outside a oneof.
      if (isWrapperDesc(field.message) && field.oneof === undefined) return scalarEncoder(field.message.fields[0]?.scalar);
      return elementEncoder("message", field.message, undefined, undefined);
    default:
      return elementEncoder(field.fieldKind, undefined, field.enum, field.scalar);
  }
}

function elementEncoder(
  kind: string,
  message: DescMessage | undefined,
  enumeration: DescEnum | undefined,
  scalar: ScalarType | undefined,
): ValueEncoder {
  // protobuf-es represents a Struct field as a plain object.
  if (message?.typeName === "google.protobuf.Struct") return JSON.stringify as ValueEncoder;
  if (kind === "message" && message !== undefined) return messageEncoder(message);
  if (kind === "enum" && enumeration !== undefined) return compileEnum(enumeration);
  return scalarEncoder(scalar);
}

function compileList(encode: ValueEncoder): ValueEncoder {
  const encodeItem = encode as (value: unknown) => string;
  return (items: readonly unknown[]) => {
    if (items.length === 0) return "[]";
    let text = "";
    for (const item of items) text += text === "" ? encodeItem(item) : `,${encodeItem(item)}`;
    return `[${text}]`;
  };
}

function compileMap(encode: ValueEncoder): ValueEncoder {
  const encodeValue = encode as (value: unknown) => string;
  return (entries: Readonly<Record<string, unknown>>) => {
    let text = "";
    // In protobuf-es, map keys of all types are strings, as in JSON.
    for (const key of Object.keys(entries)) text += `${text === "" ? "" : ","}${quote(key)}:${encodeValue(entries[key])}`;
    return `{${text}}`;
  };
}

function compileEnum(desc: DescEnum): ValueEncoder {
  if (desc.typeName === "google.protobuf.NullValue") return () => "null";
  const names = new Map(desc.values.map((value) => [value.number, JSON.stringify(value.name)]));
  // Enums are open: a number without a name is written as a number.
  return (value: number) => names.get(value) ?? String(value);
}

function compileWrapper(schema: DescMessage): ValueEncoder | undefined {
  if (!isWrapperDesc(schema)) return undefined;
  const encode = scalarEncoder(schema.fields[0]?.scalar) as (value: unknown) => string;
  return (wrapper: { value: unknown }) => encode(wrapper.value);
}

function scalarEncoder(scalar: ScalarType | undefined): ValueEncoder {
  switch (scalar) {
    case ScalarType.STRING:
      return quote;
    case ScalarType.BOOL:
      return (value: boolean) => (value ? "true" : "false");
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (value: bigint | string) => `"${value}"`;
    case ScalarType.BYTES:
      return (value: Uint8Array) => `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")}"`;
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return (value: number) => (Number.isFinite(value) ? String(value) : `"${value}"`);
    default:
      return (value: number) => String(value);
  }
}
