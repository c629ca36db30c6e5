/** Encodes the reply of a call whose message may be long. Other requests run between the elements of its lists. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Break, createBreaks } from "../../jobs/breaks.ts";
import { type CallMetadata, EncodedMessage } from "./call.ts";
import { binaryInParts, jsonParts } from "./message-parts.ts";

/** Characters of text that are converted at a time. A longer part is converted alone. */
const CHUNK_LENGTH = 64 * 1024;

/** Encodes for REST and gRPC. The library of the other protocols encodes messages itself. */
export async function encodeLongReply<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  { protocol }: CallMetadata,
): Promise<MessageShape<Desc> | EncodedMessage<Desc>> {
  const pause = createBreaks();
  if (protocol === "rest") return new EncodedMessage(schema, message, await convertToBytes(jsonParts(schema, message), pause));
  return protocol === "grpc" ? new EncodedMessage(schema, message, await binaryInParts(schema, message, pause)) : message;
}

async function convertToBytes(parts: Iterable<string>, pause: Break): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let text = "";
  for (const part of parts) {
    await pause();
    if (text.length + part.length > CHUNK_LENGTH) {
      chunks.push(Buffer.from(text));
      text = part;
    } else text += part;
  }
  chunks.push(Buffer.from(text));
  await pause();
  return Buffer.concat(chunks);
}
