/** Decodes one untrusted message. */
import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { HoltError, invalidArgument } from "../../lib/errors.ts";
import { JsonFieldError } from "../../lib/json-field-error.ts";
import { compileJsonDecoder } from "../../lib/proto-json-decode.ts";
import { assertFewFields } from "../element-limit.ts";
import { parseJsonBody } from "../json-body.ts";
import { malformed } from "./message-framing.ts";

export function decodeBinary(schema: DescMessage, bytes: Uint8Array): Message {
  return decode(schema, () => {
    assertFewFields(schema, bytes);
    // Replies contain parts of requests. Unknown fields must not come back in them.
    const message = fromBinary(schema, bytes, { readUnknownFields: false });
    spellMask(schema, message);
    return message;
  });
}

/** Gives paths of a mask in camelCase the spelling that they have in JSON, so that handlers, events and audit entries get one spelling. */
function spellMask({ field }: DescMessage, message: Message): void {
  if (field.updateMask?.message?.typeName !== FieldMaskSchema.typeName) return;
  const { updateMask: mask } = message as Message & { readonly updateMask?: FieldMask };
  if (mask === undefined) return;
  mask.paths = mask.paths.map((path) => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** Reads values as REST does. protobuf-es would leave out enum values that it does not know, such as a mistyped capability. */
export function decodeJson(schema: DescMessage, bytes: Buffer): Message {
  return decode(schema, () => compileJsonDecoder(schema)(parseJsonBody(bytes)));
}

function decode(schema: DescMessage, work: () => Message): Message {
  try {
    return work();
  } catch (error) {
    if (error instanceof JsonFieldError) throw invalidArgument(error.path, error.description);
    throw error instanceof HoltError ? error : malformed(`the request is not a ${schema.typeName}`);
  }
}
