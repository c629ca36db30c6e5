/**
 * Decodes JSON values into messages, by the proto3 JSON mapping. Unknown keys are skipped and every spelling of a field
 * is accepted. Errors name the invalid field. The encoder is in proto-json.ts.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { fieldsBySpelling } from "./field-spellings.ts";
import { JsonFieldError } from "./json-field-error.ts";
import { compileEnumDecoder, compileMapKeyDecoder, compileScalarDecoder, type ValueDecoder } from "./proto-json-scalars.ts";
import { compileWellKnownDecoder } from "./proto-json-well-known.ts";

type Fields = Record<string, unknown>;
type FieldReader = (message: Fields, json: JsonValue) => void;

const decoders = new WeakMap<DescMessage, ValueDecoder>();

/**
 * The decoder of a message, compiled once per descriptor. It throws JsonFieldError. The caller must limit the nesting
 * depth.
 */
export function compileJsonDecoder<Desc extends DescMessage>(schema: Desc): (json: JsonValue) => MessageShape<Desc> {
  return messageDecoder(schema) as (json: JsonValue) => MessageShape<Desc>;
}

function messageDecoder(schema: DescMessage): ValueDecoder {
  const known = decoders.get(schema);
  if (known !== undefined) return known;
  const decode = compileWellKnownDecoder(schema) ?? compileWrapper(schema) ?? compileMessage(schema);
  decoders.set(schema, decode);
  return decode;
}

function compileMessage(schema: DescMessage): ValueDecoder {
  const readers = new Map<string, FieldReader>();
  const createZero = compileZero(schema);
  const decode = (json: JsonValue): Message => {
    const object = asObject(json);
    const message = createZero();
    for (const key of Object.keys(object)) readers.get(key)?.(message, object[key] as JsonValue);
    return message as unknown as Message;
  };
  // Cached before its fields are compiled, because a message may contain itself.
  decoders.set(schema, decode);
  for (const [spelling, field] of fieldsBySpelling(schema)) readers.set(spelling, compileField(field));
  return decode;
}

/**
 * Copying an empty message is several times as fast as `create`. Lists, maps and oneofs are mutable, so copies do not
 * share them.
 */
function compileZero(schema: DescMessage): () => Fields {
  const zero = create(schema) as unknown as Fields;
  // proto2 messages track presence through their prototype, which a spread does not copy.
  if (Object.getPrototypeOf(zero) !== Object.prototype) return () => create(schema) as unknown as Fields;
  const lists = schema.fields.filter((field) => field.fieldKind === "list").map((field) => field.localName);
  const maps = schema.fields.filter((field) => field.fieldKind === "map").map((field) => field.localName);
  const oneofs = schema.oneofs.map((oneof) => oneof.localName);
  return () => {
    const copy = { ...zero };
    for (const name of lists) copy[name] = [];
    for (const name of maps) copy[name] = {};
    for (const name of oneofs) if (zero[name] !== undefined) copy[name] = { case: undefined };
    return copy;
  };
}

function compileField(field: DescField): FieldReader {
  const decode = compileFieldDecoder(field);
  return (message, json) => {
    if (json === null && !hasNull(field)) return;
    try {
      assign(message, field, decode(json));
    } catch (error) {
      throw JsonFieldError.within(field.name, error);
    }
  };
}

/** Whether null is a value of the field. Other fields count as absent with it. */
export function hasNull({ fieldKind, message, enum: enumeration }: DescField): boolean {
  const takesNull = message?.typeName === "google.protobuf.Value" || enumeration?.typeName === "google.protobuf.NullValue";
  return takesNull && fieldKind !== "list" && fieldKind !== "map";
}

function assign(message: Fields, field: DescField, value: unknown): void {
  if (field.oneof === undefined) {
    message[field.localName] = value;
    return;
  }
  const present = message[field.oneof.localName] as { case: string | undefined } | undefined;
  if (present?.case !== undefined && present.case !== field.localName) {
    throw new JsonFieldError("", `only one of ${field.oneof.fields.map((member) => member.name).join(", ")} may be set`);
  }
  message[field.oneof.localName] = { case: field.localName, value };
}

/** The decoder of a field's whole value, including lists and maps. */
export function compileFieldDecoder(field: DescField): ValueDecoder {
  const decode = compileElementDecoder(field);
  if (field.fieldKind === "list") return (json) => decodeList(json, decode);
  if (field.fieldKind === "map") return compileMap(decode, field.mapKey);
  // protobuf-es unwraps google.protobuf.StringValue and similar wrappers in singular fields outside a oneof.
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message))
    return compileScalarDecoder(field.message.fields[0].scalar);
  return decode;
}

/** The decoder of a single value: the field's own, or one element of its list or map. */
export function compileElementDecoder(field: DescField): ValueDecoder {
  // protobuf-es represents a Struct field as a plain object.
  if (field.message?.typeName === "google.protobuf.Struct") return asObject;
  if (field.message !== undefined) return messageDecoder(field.message);
  if (field.enum !== undefined) return compileEnumDecoder(field.enum);
  return compileScalarDecoder(field.scalar ?? ScalarType.STRING);
}

function decodeList(json: JsonValue, decode: ValueDecoder): unknown[] {
  if (!Array.isArray(json)) throw new JsonFieldError("", "must be a list");
  return json.map((item, index) => within(index, item, decode));
}

function compileMap(decode: ValueDecoder, keyType: ScalarType): ValueDecoder {
  const decodeKey = compileMapKeyDecoder(keyType);
  return (json) => {
    const entries: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(asObject(json))) {
      const value = within(key, item, decode);
      // Assigning to __proto__ would set the prototype instead.
      if (key === "__proto__") Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
      else entries[within(key, key, (given) => decodeKey(given as string)) as string] = value;
    }
    return entries;
  };
}

/** @param key of a map, or index of a list */
function within(key: string | number, json: JsonValue, decode: ValueDecoder): unknown {
  try {
    return decode(json);
  } catch (error) {
    throw JsonFieldError.within(`[${JSON.stringify(key)}]`, error);
  }
}

function compileWrapper(schema: DescMessage): ValueDecoder | undefined {
  if (!isWrapperDesc(schema)) return undefined;
  const decode = compileScalarDecoder(schema.fields[0].scalar);
  return (json) => create(schema as DescMessage, { value: decode(json) } as never);
}

function asObject(json: JsonValue): JsonObject {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new JsonFieldError("", "must be an object");
  return json;
}
