/** Encodes replies as length-prefixed gRPC messages. Stored JSON becomes binary in one step. */
import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import { EncodedMessage, JsonText, messageOf, type Reply } from "../call/call.ts";
import { ListText } from "../resource/list-text.ts";
import { compileBinaryEncoder } from "./binary-from-json.ts";
import { frameList } from "./frame-list.ts";
import { frameMessage } from "./message-framing.ts";

type Encode = ReturnType<typeof compileBinaryEncoder>;

/** Compiled at the first reply, since most servers serve few messages over gRPC. */
const encoders = new Map<DescMessage, Encode>();

export function frameReply(schema: DescMessage, reply: Reply): Buffer {
  if (reply instanceof EncodedMessage) return frameMessage(reply.encoded);
  const encode = reply instanceof JsonText && !reply.isDecoded ? encoderOf(schema) : undefined;
  if (encode === undefined) return frameMessage(toBinary(schema, messageOf(reply)));
  const list = reply instanceof ListText ? frameList(schema, reply, encode) : undefined;
  return list ?? encode((reply as JsonText).text);
}

function encoderOf(schema: DescMessage): Encode {
  if (!encoders.has(schema)) encoders.set(schema, compileBinaryEncoder(schema));
  return encoders.get(schema);
}
