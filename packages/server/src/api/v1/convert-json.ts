/** Converts the JSON of version 2 messages to version 1. Compiled from the descriptors at boot. */
import { type DescEnum, type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { isNullIfUnset } from "../../lib/proto-json.ts";
import { type Differences, type FieldPair, pairFields } from "./field-pairs.ts";

export type JsonConverter = (source: JsonObject) => JsonObject;
type ValueConverter = (value: JsonValue) => JsonValue;
type FieldWriter = (source: JsonObject, target: JsonObject) => void;

/** @returns a converter of canonical proto-JSON, whose results have the keys in the order of version 1 */
export function compileJsonConverter(v2: DescMessage, v1: DescMessage, differences: Differences): JsonConverter {
  return messageConverter(v2, v1, { differences, compiled: new Map() });
}

interface Compilation {
  readonly differences: Differences;
  /** By the names of both messages, because a message may contain itself. */
  readonly compiled: Map<string, JsonConverter>;
}

function messageConverter(v2: DescMessage, v1: DescMessage, compilation: Compilation): JsonConverter {
  const key = `${v2.typeName} ${v1.typeName}`;
  const known = compilation.compiled.get(key);
  if (known !== undefined) return known;
  const writers: FieldWriter[] = [];
  const convert: JsonConverter = (source) => {
    const target: JsonObject = {};
    for (const write of writers) write(source, target);
    return target;
  };
  compilation.compiled.set(key, convert);
  writers.push(...compileWriters(v2, v1, compilation));
  return convert;
}

/** In the order of the fields of version 1. */
function compileWriters(v2: DescMessage, v1: DescMessage, compilation: Compilation): FieldWriter[] {
  const { answered = {} } = compilation.differences[v1.typeName] ?? {};
  const pairs = new Map(pairFields(v2, v1, compilation.differences).map((pair) => [pair.v1, pair]));
  return v1.fields.flatMap((field) => {
    const pair = pairs.get(field);
    const answer = Object.hasOwn(answered, field.name) ? answered[field.name] : undefined;
    if (answer !== undefined) return [writer(field, answer)];
    return pair === undefined ? [] : [compileWriter(pair, compilation)];
  });
}

function writer(field: DescField, answer: (source: JsonObject) => JsonValue | undefined): FieldWriter {
  const { jsonName } = field;
  const missing = isNullIfUnset(field) ? null : undefined;
  return (source, target) => {
    const value = answer(source) ?? missing;
    if (value !== undefined) target[jsonName] = value;
  };
}

function compileWriter({ v1, v2 }: FieldPair, compilation: Compilation): FieldWriter {
  const { jsonName } = v2;
  const convert = fieldConverter(v1, v2, compilation);
  const missing = missingValue(v1);
  return writer(v1, (source) => {
    const value = source[jsonName];
    return value === undefined ? missing : convert(value);
  });
}

/** Fields of implicit presence are always written, also where version 2 can leave them out. An unset message is `null`. */
export function missingValue(field: DescField): JsonValue | undefined {
  const { fieldKind, scalar, presence, enum: enumeration } = field;
  if (isNullIfUnset(field)) return null;
  if (fieldKind === "list") return [];
  if (fieldKind === "map") return {};
  if (presence !== FeatureSet_FieldPresence.IMPLICIT) return undefined;
  if (enumeration !== undefined) return enumeration.values[0]?.name;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "";
  if (scalar === ScalarType.BOOL) return false;
  return isLong(scalar) ? "0" : 0;
}

function isLong(scalar: ScalarType | undefined): boolean {
  return scalar === ScalarType.INT64 || scalar === ScalarType.UINT64;
}

function fieldConverter(v1: DescField, v2: DescField, compilation: Compilation): ValueConverter {
  const convert = elementConverter(v1, v2, compilation);
  if (convert === undefined) return (value) => value;
  if (v1.fieldKind === "list") return (list) => (list as JsonValue[]).map(convert);
  if (v1.fieldKind === "map")
    return (map) => Object.fromEntries(Object.entries(map as JsonObject).map(([key, value]) => [key, convert(value)]));
  return convert;
}

/** Undefined if values are the same in both versions. */
function elementConverter(v1: DescField, v2: DescField, compilation: Compilation): ValueConverter | undefined {
  if (v1.enum !== undefined && v2.enum !== undefined) return enumConverter(v2.enum, v1.enum);
  if (v1.message === undefined || v2.message === undefined || v1.message.typeName === v2.message.typeName) return undefined;
  return messageConverter(v2.message, v1.message, compilation) as ValueConverter;
}

function enumConverter(v2: DescEnum, v1: DescEnum): ValueConverter | undefined {
  const names = enumValueNames(v2, v1);
  if ([...names].every(([from, to]) => from === to)) return undefined;
  return (value) => (typeof value === "string" ? (names.get(value) ?? value) : value);
}

/** The value by its name in version 2. It has the same name or, where version 1 has no prefixes, the same number. */
export function enumValueNames(v2: DescEnum, v1: DescEnum): ReadonlyMap<string, JsonValue> {
  return new Map(
    v2.values.map(({ name, number }) => [name, v1.values.find((value) => value.name === name)?.name ?? v1.value[number]?.name ?? number]),
  );
}
