/** Encodes replies as length-prefixed gRPC messages. Stored JSON becomes binary in one step, and once for all calls that read it. */
import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import { EncodedMessage, JsonText, messageOf, type Reply } from "../call/call.ts";
import { isBodyOfResource } from "../resource/fields-of-body.ts";
import { ListText } from "../resource/list-text.ts";
import { compileBinaryEncoder } from "./binary-from-json.ts";
import { frameList } from "./frame-list.ts";
import { MessageCache } from "./message-cache.ts";
import { frameMessage } from "./message-framing.ts";

/** About 4,000 identities. */
const CACHE_BYTES = 4 * 1024 * 1024;

type Encode = (text: string) => Buffer;

/** Compiled at the first reply, since most servers serve few messages over gRPC. */
const encoders = new Map<DescMessage, Encode | undefined>();
const resources = new MessageCache(CACHE_BYTES);

export function frameReply(schema: DescMessage, reply: Reply): Buffer {
  if (reply instanceof EncodedMessage) return frameMessage(reply.encoded);
  const encode = reply instanceof JsonText && !reply.isDecoded ? encoderOf(schema) : undefined;
  if (encode === undefined) return frameMessage(toBinary(schema, messageOf(reply)));
  const list = reply instanceof ListText ? frameList(schema, reply, encode, frameRow) : undefined;
  return list ?? frameText(schema, (reply as JsonText).text, encode);
}

function frameText(schema: DescMessage, text: string, encode: Encode): Buffer {
  return isBodyOfResource(text) ? resources.get(schema, text, encode) : encode(text);
}

/** Rows can be encoded, because their list can. */
function frameRow(schema: DescMessage, body: string): Buffer {
  return resources.get(schema, body, encoderOf(schema) as Encode);
}

function encoderOf(schema: DescMessage): Encode | undefined {
  if (!encoders.has(schema)) encoders.set(schema, compileBinaryEncoder(schema));
  return encoders.get(schema);
}
