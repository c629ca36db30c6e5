/** Decodes one untrusted message. */
import { type DescMessage, fromBinary, fromJson, type Message } from "@bufbuild/protobuf";
import { HoltError } from "../../lib/errors.ts";
import { assertFewFields } from "../element-limit.ts";
import { parseJsonBody } from "../json-body.ts";
import { malformed } from "./message-framing.ts";

/** Nesting depth of JSON messages; equals the library's limit for protobuf. */
const MAX_DEPTH = 100;

export function decodeBinary(schema: DescMessage, bytes: Uint8Array): Message {
  return decode(schema, () => {
    assertFewFields(schema, bytes);
    // Replies contain parts of requests. Unknown fields must not come back in them.
    return fromBinary(schema, bytes, { readUnknownFields: false });
  });
}

export function decodeJson(schema: DescMessage, bytes: Buffer): Message {
  return decode(schema, () => fromJson(schema, parseJsonBody(bytes, MAX_DEPTH), { ignoreUnknownFields: true }));
}

function decode(schema: DescMessage, work: () => Message): Message {
  try {
    return work();
  } catch (error) {
    throw error instanceof HoltError ? error : malformed(`the request is not a ${schema.typeName}`);
  }
}
