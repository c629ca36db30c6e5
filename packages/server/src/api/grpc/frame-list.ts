/** Encodes lists as length-prefixed gRPC messages from the binary forms of their rows. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ListText } from "../resource/list-text.ts";
import { ElementCache } from "./element-cache.ts";
import { OVERHEAD as PREFIX } from "./message-framing.ts";

/** About 4,000 identities. */
const CACHE_BYTES = 4 * 1024 * 1024;

const elements = new ElementCache(CACHE_BYTES);

/**
 * @param encode the encoder of the list's message
 * @returns undefined for a message whose rows are not its first field on the wire
 */
export function frameList(
  schema: DescMessage,
  { page: { bodies }, textWithoutBodies }: ListText,
  encode: (text: string) => Buffer,
): Buffer | undefined {
  const [rows] = schema.fields;
  if (rows === undefined || schema.fields.some(({ number }) => number < rows.number)) return undefined;
  const encodeElement = (body: string) => encode(`{"${rows.jsonName}":[${body}]}`).subarray(PREFIX);
  const parts = bodies.texts.map((body) => elements.get(schema, body, () => encodeElement(body)));
  const rest = encode(textWithoutBodies).subarray(PREFIX);
  let length = rest.length;
  for (const part of parts) length += part.length;
  const frame = Buffer.allocUnsafe(PREFIX + length);
  frame[0] = 0;
  frame.writeUInt32BE(length, 1);
  let at = PREFIX;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  frame.set(rest, at);
  return frame;
}
