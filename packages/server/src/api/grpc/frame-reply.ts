/** Encodes replies as length-prefixed gRPC messages. Stored JSON becomes binary in one step. */
import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import { JsonText, messageOf, type Reply } from "../call/call.ts";
import { compileBinaryEncoder } from "./binary-from-json.ts";
import { frameMessage } from "./message-framing.ts";

type Encode = ReturnType<typeof compileBinaryEncoder>;

/** Compiled at the first reply, since most servers serve few messages over gRPC. */
const encoders = new Map<DescMessage, Encode>();

export function frameReply(schema: DescMessage, reply: Reply): Buffer {
  const encode = reply instanceof JsonText && !reply.isDecoded ? encoderOf(schema) : undefined;
  return encode === undefined ? frameMessage(toBinary(schema, messageOf(reply))) : encode((reply as JsonText).text);
}

function encoderOf(schema: DescMessage): Encode {
  if (!encoders.has(schema)) encoders.set(schema, compileBinaryEncoder(schema));
  return encoders.get(schema);
}
