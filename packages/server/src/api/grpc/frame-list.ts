/** Encodes lists as length-prefixed gRPC messages from the binary forms of their rows. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ListText } from "../resource/list-text.ts";
import { PREFIX_BYTES } from "./message-framing.ts";

/** The wire type of messages within messages. */
const BYTES = 2;
/** The bits of a byte that hold a part of a varint. The other bit says that more bytes follow. */
const VALUE_BITS = 0x7f;
const CONTINUATION_BIT = 0x80;

/**
 * @param encode the encoder of the list's message
 * @param frameRow makes the length-prefixed message of a row
 * @returns undefined for a message whose rows are not its first field on the wire
 */
export function frameList(
  schema: DescMessage,
  { page: { bodies }, textWithoutBodies }: ListText,
  encode: (text: string) => Buffer,
  frameRow: (row: DescMessage, body: string) => Buffer,
): Buffer | undefined {
  const [rows] = schema.fields;
  if (rows?.message === undefined || schema.fields.some(({ number }) => number < rows.number)) return undefined;
  const { message } = rows;
  const tag = (rows.number << 3) | BYTES;
  const framed = bodies.texts.map((body) => frameRow(message, body));
  const rest = encode(textWithoutBodies);
  let length = rest.length - PREFIX_BYTES;
  for (const row of framed) length += varintLength(tag) + varintLength(row.length - PREFIX_BYTES) + row.length - PREFIX_BYTES;
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + length);
  frame[0] = 0;
  frame.writeUInt32BE(length, 1);
  let at = PREFIX_BYTES;
  for (const row of framed) {
    at = writeVarint(frame, tag, at);
    at = writeVarint(frame, row.length - PREFIX_BYTES, at);
    at += row.copy(frame, at, PREFIX_BYTES);
  }
  rest.copy(frame, at, PREFIX_BYTES);
  return frame;
}

/** @param value below 2^31, as in `writeVarint` */
function varintLength(value: number): number {
  let length = 1;
  for (let rest = value >> 7; rest !== 0; rest >>= 7) length++;
  return length;
}

/** @returns the offset behind it */
function writeVarint(target: Buffer, value: number, offset: number): number {
  let at = offset;
  let rest = value;
  for (; rest > VALUE_BITS; rest >>= 7) target[at++] = (rest & VALUE_BITS) | CONTINUATION_BIT;
  target[at++] = rest;
  return at;
}
