/**
 * Encodes the canonical JSON of a message (lib/proto-json.ts) as a gRPC message, without the message between them. Encoders are compiled
 * once per descriptor. They write the same bytes as protobuf-es does for the decoded message.
 */
import { type DescField, type DescMessage, fromJson, type JsonObject, type JsonValue, ScalarType, toBinary } from "@bufbuild/protobuf";
import { isWellKnown } from "../../lib/proto-json-well-known.ts";
import { FrameWriter } from "./frame-writer.ts";

type Write = (value: JsonValue, writer: FrameWriter) => void;
type Json = Readonly<Record<string, JsonValue | undefined>>;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** How to write the values of a type, behind their tags. */
interface ValueType {
  readonly wire: number;
  readonly write: Write;
  /** Whether a field without presence leaves the value out. */
  isDefault(value: JsonValue): boolean;
}

const writers = new WeakMap<DescMessage, Write>();
const frame = new FrameWriter();

/** @returns undefined for messages with types that only the library can write */
export function compileBinaryEncoder(schema: DescMessage): ((text: string) => Buffer) | undefined {
  if (!isWritable(schema)) return undefined;
  const write = compileMessage(schema);
  return (text) => {
    frame.begin();
    write(JSON.parse(text) as JsonValue, frame);
    return frame.end();
  };
}

/** Whether the message and all messages within it have only types that can be written here. */
function isWritable(schema: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(schema)) return true;
  seen.add(schema);
  return schema.fields.every((field) => {
    if (field.fieldKind === "map" && field.mapKey !== ScalarType.STRING) return false;
    if (field.fieldKind === "message" && field.delimitedEncoding) return false;
    if (field.message === undefined) return field.scalar === undefined || SCALARS[field.scalar] !== undefined;
    return isWellKnown(field.message) ? !UNKNOWN_IN_JSON.has(field.message.typeName) : isWritable(field.message, seen);
  });
}

function compileMessage(schema: DescMessage): Write {
  const known = writers.get(schema);
  if (known !== undefined) return known;
  const fields: Write[] = [];
  const write: Write = (json, writer) => {
    if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Error(`${schema.typeName}: the JSON is not an object`);
    for (const writeField of fields) writeField(json, writer);
  };
  // Cached before its fields are compiled, because a message may contain itself.
  writers.set(schema, write);
  fields.push(...schema.fields.toSorted((a, b) => a.number - b.number).map(compileField));
  return write;
}

function compileField(field: DescField): Write {
  const { jsonName, number } = field;
  const write = field.fieldKind === "map" ? compileMap(field) : compileValues(field, number);
  return (json, writer) => {
    const value = (json as Json)[jsonName];
    // Version 1 writes null for an unset message.
    if (value !== undefined && value !== null) write(value, writer);
  };
}

function compileValues(field: DescField, number: number): Write {
  const { wire, write, isDefault } = typeOf(field);
  const tag = (number << 3) | wire;
  if (field.fieldKind !== "list") {
    const hasPresence = field.oneof !== undefined || field.presence !== IMPLICIT;
    return (value, writer) => {
      if (!hasPresence && isDefault(value)) return;
      writer.varint(tag);
      write(value, writer);
    };
  }
  if (!field.packed)
    return (values, writer) => {
      for (const value of elementsOf(values)) {
        writer.varint(tag);
        write(value, writer);
      }
    };
  return (values, writer) => {
    const elements = elementsOf(values);
    if (elements.length === 0) return;
    writer.varint((number << 3) | BYTES);
    const start = writer.open();
    for (const value of elements) write(value, writer);
    writer.close(start);
  };
}

function elementsOf(json: JsonValue): JsonValue[] {
  if (!Array.isArray(json)) throw new Error("the JSON of a list is not an array");
  return json;
}

/** google.protobuf.FeatureSet.FieldPresence.IMPLICIT */
const IMPLICIT = 2;

function compileMap(field: DescField & { fieldKind: "map" }): Write {
  const type = typeOf(field);
  return (json, writer) => {
    for (const [key, value] of Object.entries(json as JsonObject)) {
      writer.varint((field.number << 3) | BYTES);
      const start = writer.open();
      writer.varint((1 << 3) | BYTES);
      writer.string(key);
      writer.varint((2 << 3) | type.wire);
      type.write(value, writer);
      writer.close(start);
    }
  };
}

/** The type of a field's values, of its elements or of the values of its map. */
function typeOf(field: DescField): ValueType {
  if (field.message !== undefined) return messageType(field.message);
  if (field.enum !== undefined) {
    const numbers = new Map<JsonValue, number>(field.enum.values.map(({ name, number }) => [name, number]));
    const numberOf = (value: JsonValue): number => numbers.get(value) ?? integerOf(value);
    return { wire: VARINT, write: (value, writer) => writer.int(numberOf(value)), isDefault: (value) => numberOf(value) === 0 };
  }
  const type = field.scalar === undefined ? undefined : SCALARS[field.scalar];
  if (type === undefined) throw new Error(`${field.name} has a type that cannot be written`);
  return type;
}

/** The JSON of an unset value and of null are the same, and that of Any has fields of another message. */
const UNKNOWN_IN_JSON: ReadonlySet<string> = new Set(["google.protobuf.Value", "google.protobuf.Any"]);

function messageType(schema: DescMessage): ValueType {
  const isDefault = () => false;
  if (schema.typeName === "google.protobuf.Timestamp") return { wire: BYTES, write: writeTimestamp(schema), isDefault };
  if (isWellKnown(schema)) return { wire: BYTES, write: writeByLibrary(schema), isDefault };
  const writeFields = compileMessage(schema);
  const write: Write = (value, writer) => {
    const start = writer.open();
    writeFields(value, writer);
    writer.close(start);
  };
  return { wire: BYTES, write, isDefault };
}

function writeByLibrary(schema: DescMessage): Write {
  return (value, writer) => writer.bytes(toBinary(schema, fromJson(schema, value)));
}

/** Length of a time with three digits. */
const TIME_LENGTH = 24;

function writeTimestamp(schema: DescMessage): Write {
  const writeAny = writeByLibrary(schema);
  return (value, writer) => {
    const ms = (value as string).length === TIME_LENGTH ? Date.parse(value as string) : Number.NaN;
    if (!(ms >= 0)) return writeAny(value, writer);
    const start = writer.open();
    const seconds = Math.floor(ms / 1000);
    const nanos = (ms - seconds * 1000) * 1_000_000;
    if (seconds !== 0) {
      writer.varint((1 << 3) | VARINT);
      writer.varint(seconds);
    }
    if (nanos !== 0) {
      writer.varint((2 << 3) | VARINT);
      writer.varint(nanos);
    }
    writer.close(start);
  };
}

function integerOf(value: JsonValue): number {
  if (!Number.isInteger(value)) throw new Error(`${JSON.stringify(value)} is not an integer`);
  return value as number;
}

const isZero = (value: JsonValue) => Number(value) === 0;
const integer: ValueType = { wire: VARINT, write: (value, writer) => writer.int(integerOf(value)), isDefault: isZero };
const bigInteger: ValueType = { wire: VARINT, write: (value, writer) => writer.bigInt(BigInt(value as string)), isDefault: isZero };

const SCALARS: Partial<Record<ScalarType, ValueType>> = {
  [ScalarType.STRING]: { wire: BYTES, write: (value, writer) => writer.string(value as string), isDefault: (value) => value === "" },
  [ScalarType.BOOL]: {
    wire: VARINT,
    write: (value, writer) => writer.varint(value === true ? 1 : 0),
    isDefault: (value) => value === false,
  },
  [ScalarType.INT32]: integer,
  [ScalarType.UINT32]: integer,
  [ScalarType.INT64]: bigInteger,
  [ScalarType.UINT64]: bigInteger,
  [ScalarType.DOUBLE]: { wire: FIXED64, write: (value, writer) => writer.double(Number(value)), isDefault: isZero },
  [ScalarType.FLOAT]: { wire: FIXED32, write: (value, writer) => writer.float(Number(value)), isDefault: isZero },
  [ScalarType.BYTES]: {
    wire: BYTES,
    write: (value, writer) => writer.bytes(Buffer.from(value as string, "base64")),
    isDefault: (value) => value === "",
  },
};
