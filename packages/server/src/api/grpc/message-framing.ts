/** Length-prefixed messages (gRPC over HTTP/2): a byte of flags, four of length, the message. Here always exactly one, as unary calls have. */

import { inflate } from "../../http/read-body.ts";
import type { Allowance } from "../../http/request-memory.ts";
import { Code, HoltError, invalidArgument } from "../../lib/errors.ts";

const PREFIX = 5;
const COMPRESSED = 1;

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX);
  return frame;
}

/** How many bytes a body has beside its message. */
export const OVERHEAD = PREFIX;

/**
 * The one message of a body, decompressed.
 * @param encoding of the grpc-encoding header
 */
export function unframe(body: Buffer, encoding: string | undefined, allowance: Allowance): Buffer | Promise<Buffer> {
  if (body.length === 0) throw new HoltError(Code.UNIMPLEMENTED, "A unary call has one request message, not none");
  if (body.length < PREFIX || body.length < PREFIX + body.readUInt32BE(1)) throw malformed("the request ends within its message");
  if (body.length > PREFIX + body.readUInt32BE(1))
    throw new HoltError(Code.UNIMPLEMENTED, "A unary call has one request message, not several");
  const message = body.subarray(PREFIX);
  if (body[0] === 0) return message;
  if (body[0] !== COMPRESSED) throw malformed("the message has unknown flags");
  if (encoding === undefined || encoding === "identity") throw malformed("the message is compressed, but grpc-encoding does not say how");
  return message.length === 0 ? message : inflate(message, allowance);
}

/** Throws UNIMPLEMENTED on an encoding that no message could be read in (gRPC compression specification). */
export function assertEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding === "identity" || encoding === "gzip") return;
  throw new HoltError(Code.UNIMPLEMENTED, `The compression "${encoding}" is not known; gzip is`);
}

export function malformed(description: string): HoltError {
  return invalidArgument("", description);
}
