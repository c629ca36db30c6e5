/** Generates binary protobuf messages that are slow or large to decode, in any size. */
import { Buffer } from "node:buffer";

type Generator = (bytes: number) => Buffer;

/** A field with a length: a message, string, bytes or packed list. */
function lengthDelimited(field: number, content: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

function repeat(bytes: number, part: Buffer): Buffer {
  return Buffer.alloc(Math.max(part.length, bytes - (bytes % part.length)), part);
}

/** Messages in messages, as deep as fit. Each level takes up to six bytes. */
function nested(bytes: number, field: number): Buffer {
  const levels: Buffer[] = [];
  let size = 0;
  while (size < bytes - 12) {
    const head = Buffer.concat([varint((field << 3) | 2), varint(size)]);
    levels.push(head);
    size += head.length;
  }
  return Buffer.concat(levels.reverse());
}

/** @param field of the message that has a message or a string */
export function protobufMessages(field: number): Readonly<Record<string, Generator>> {
  const within = (content: Buffer) => lengthDelimited(field, content);
  return {
    "empty fields": (bytes) => repeat(bytes, within(Buffer.alloc(0))),
    "empty fields of a field": (bytes) => within(repeat(bytes, Buffer.from([10, 0]))),
    "short strings of a field": (bytes) => within(repeat(bytes, Buffer.from([26, 1, 97]))),
    "nested fields": (bytes) => nested(bytes, field),
    "unknown numbers": (bytes) => repeat(bytes, Buffer.from([0xf8, 0x7f, 1])),
    "unknown groups in each other": (bytes) => repeat(bytes, Buffer.from([0xfb, 0x7f])),
    "numbers of ten bytes": (bytes) => repeat(bytes, Buffer.from([0xf8, 0x7f, ...Array(9).fill(0xff), 1])),
    "packed numbers": (bytes) => within(within(Buffer.alloc(bytes))),
    "one long string": (bytes) => within(Buffer.alloc(bytes, "a")),
    "invalid UTF-8": (bytes) => within(Buffer.alloc(bytes, 0xff)),
    "a length beyond the end": (bytes) => Buffer.concat([varint((field << 3) | 2), varint(2 ** 31 - 1), Buffer.alloc(bytes)]),
  };
}
