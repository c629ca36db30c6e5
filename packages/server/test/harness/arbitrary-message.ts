/** Generates messages of any type with any content. */
import { create, type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { AnySchema, DurationSchema, FieldMaskSchema, isWrapperDesc, TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc, { type Arbitrary } from "fast-check";

/** Sets random fields; messages nested deeper than `depth` stay unset. */
export function arbitraryMessage(schema: DescMessage, depth = 3): Arbitrary<Message> {
  const wellKnown = arbitraryWellKnown(schema);
  if (wellKnown !== undefined) return wellKnown;
  const init: Record<string, Arbitrary<unknown>> = {};
  for (const field of schema.fields) {
    if (field.oneof === undefined && !(field.message !== undefined && depth === 0)) init[field.localName] = arbitraryField(field, depth);
  }
  for (const oneof of schema.oneofs) {
    const members = oneof.fields.filter((field) => field.message === undefined || depth > 0);
    const cases = members.map((field) => arbitraryElement(field, depth).map((value) => ({ case: field.localName, value })));
    init[oneof.localName] = fc.oneof(fc.constant(undefined), ...cases);
  }
  return fc.record(init, { requiredKeys: [] }).map((value) => create(schema, value));
}

function arbitraryField(field: DescField, depth: number): Arbitrary<unknown> {
  if (field.fieldKind === "list") return fc.array(arbitraryElement(field, depth), { maxLength: 3 });
  if (field.fieldKind === "map")
    return fc.dictionary(arbitraryKey(field.mapKey), arbitraryElement(field, depth), { maxKeys: 3, noNullPrototype: true });
  if (field.fieldKind === "message" && isWrapperDesc(field.message)) return arbitraryScalar(field.message.fields[0].scalar);
  return arbitraryElement(field, depth);
}

function arbitraryElement(field: DescField, depth: number): Arbitrary<unknown> {
  if (field.message?.typeName === "google.protobuf.Struct")
    return fc.dictionary(arbitraryKey(ScalarType.STRING), arbitraryJson, { noNullPrototype: true });
  if (field.message !== undefined) return arbitraryMessage(field.message, depth - 1);
  if (field.enum !== undefined) return arbitraryEnum(field.enum);
  return arbitraryScalar(field.scalar ?? ScalarType.STRING);
}

function arbitraryEnum(desc: DescEnum): Arbitrary<number> {
  const known = fc.constantFrom(...desc.values.map((value) => value.number));
  return desc.typeName === "google.protobuf.NullValue"
    ? known
    : fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 1000 }) });
}

const arbitraryText = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom('"', "\\", "\n", "__proto__", "😀"));
// The library loses keys named __proto__, for which our reader has its own test. After an object with a key of one backslash, V8's
// JSON.parse reads any key that begins with an escape as that key (nodejs/node 63785).
const arbitraryJson = fc.jsonValue({ maxDepth: 3 }).filter((json) => !/__proto__|"\\\\":/.test(JSON.stringify(json)));

function arbitraryKey(scalar: ScalarType): Arbitrary<string> {
  return (arbitraryScalar(scalar) as Arbitrary<unknown>).map(String).filter((key) => key !== "__proto__" && key !== "\\");
}

function arbitraryScalar(scalar: ScalarType): Arbitrary<unknown> {
  switch (scalar) {
    case ScalarType.STRING:
      return arbitraryText;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 10 });
    case ScalarType.DOUBLE:
      return fc.double();
    case ScalarType.FLOAT:
      return fc.float();
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.nat({ max: 0xffff_ffff });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    default:
      return fc.integer();
  }
}

function arbitraryWellKnown(schema: DescMessage): Arbitrary<Message> | undefined {
  switch (schema.typeName) {
    case TimestampSchema.typeName:
      return fc
        .tuple(fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }), fc.nat({ max: 999_999_999 }))
        .map(([seconds, nanos]) => create(TimestampSchema, { seconds, nanos }));
    case DurationSchema.typeName:
      return fc
        .tuple(fc.nat({ max: 1_000_000 }), fc.nat({ max: 999_999_999 }), fc.constantFrom(1, -1))
        .map(([seconds, nanos, sign]) =>
          create(DurationSchema, { seconds: BigInt(seconds * sign), nanos: nanos === 0 ? 0 : nanos * sign }),
        );
    case FieldMaskSchema.typeName:
      return fc.array(fc.constantFrom("name", "claim_match.issuer", "create_time")).map((paths) => create(FieldMaskSchema, { paths }));
    case AnySchema.typeName:
      return fc.constant(create(AnySchema));
    case "google.protobuf.Value":
      return arbitraryJson.map((json) => jsonValueMessage(schema, json));
    default:
      return undefined;
  }
}

function jsonValueMessage(schema: DescMessage, json: unknown): Message {
  if (json === null) return create(schema, { kind: { case: "nullValue", value: 0 } } as never);
  if (typeof json === "boolean") return create(schema, { kind: { case: "boolValue", value: json } } as never);
  if (typeof json === "number") return create(schema, { kind: { case: "numberValue", value: json } } as never);
  return create(schema, { kind: { case: "stringValue", value: JSON.stringify(json) } } as never);
}
