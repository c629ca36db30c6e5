/**
 * Limits the number of elements in a request. Each element becomes an object: a message with millions of empty elements is small on the
 * wire, but blocks the server while it is decoded. Elements are counted before decoding.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type HoltError, invalidArgument } from "../lib/errors.ts";

export const MAX_ELEMENTS = 20_000;

/** For JSON and forms. Marks inside strings count too, since strings can hold lists, such as field masks. */
export function assertFewMarks(text: Uint8Array): void {
  if (text.length <= MAX_ELEMENTS) return;
  let marks = 0;
  for (let i = 0; i < text.length; i++) if (MARKS[text[i] as number] === 1) marks++;
  if (marks > MAX_ELEMENTS) throw tooMany();
}

const MARKS = new Uint8Array(256);
for (const mark of Buffer.from(",{[&")) MARKS[mark] = 1;

/** @throws HoltError for too many elements; any other error if the bytes are not a message */
export function assertFewFields(schema: DescMessage, bytes: Uint8Array): void {
  if (bytes.length > MAX_ELEMENTS) countFields(bytes, shapeOf(schema), 0);
}

/** The fields of a message that hold further elements, by number. */
type Shape = ReadonlyMap<number, Shape | typeof PACKED>;
const PACKED = "packed numbers";
const shapes = new WeakMap<DescMessage, Shape>();

function countFields(bytes: Uint8Array, shape: Shape, before: number): number {
  const reader = new BinaryReader(bytes);
  let count = before;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    count++;
    const inner = wireType === WireType.LengthDelimited ? shape.get(number) : undefined;
    if (inner === undefined) reader.skip(wireType, number);
    // Each number takes at least one byte.
    else if (inner === PACKED) count += reader.bytes().length;
    else count = countFields(reader.bytes(), inner, count);
    if (count > MAX_ELEMENTS) throw tooMany();
  }
  return count;
}

function shapeOf(schema: DescMessage): Shape {
  const known = shapes.get(schema);
  if (known !== undefined) return known;
  const shape = new Map<number, Shape | typeof PACKED>();
  // Stored before its fields are compiled: a message may contain itself.
  shapes.set(schema, shape);
  for (const field of schema.fields) {
    const inner = innerOf(field);
    if (inner !== undefined) shape.set(field.number, inner);
  }
  return shape;
}

function innerOf(field: DescField): Shape | typeof PACKED | undefined {
  const inner = field.message === undefined ? undefined : shapeOf(field.message);
  // A map entry is a message with the value in field 2.
  if (field.fieldKind === "map") return new Map(inner === undefined ? [] : [[2, inner]]);
  if (inner !== undefined || field.fieldKind !== "list") return inner;
  return field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES ? undefined : PACKED;
}

function tooMany(): HoltError {
  return invalidArgument("", `the request has more than ${MAX_ELEMENTS} elements`);
}
