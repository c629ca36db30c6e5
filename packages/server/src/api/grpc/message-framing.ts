/** Length-prefixed messages (gRPC over HTTP/2): one byte of flags, four of length, then the message. Unary calls have exactly one. */

import { inflate } from "../../http/read-body.ts";
import type { Allowance } from "../../http/request-memory.ts";
import { Code, HoltError, invalidArgument } from "../../lib/errors.ts";

/** The flags and the length. */
export const PREFIX_BYTES = 5;
/** The flag of a compressed message. */
export const COMPRESSED = 1;

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/**
 * The one message of a body, decompressed.
 * @param encoding of the grpc-encoding header
 */
export function unframe(body: Buffer, encoding: string | undefined, allowance: Allowance): Buffer | Promise<Buffer> {
  if (body.length === 0) throw new HoltError(Code.UNIMPLEMENTED, "A unary call has one request message, not none");
  if (body.length < PREFIX_BYTES || body.length < PREFIX_BYTES + body.readUInt32BE(1))
    throw malformed("the request ends within its message");
  if (body.length > PREFIX_BYTES + body.readUInt32BE(1))
    throw new HoltError(Code.UNIMPLEMENTED, "A unary call has one request message, not several");
  const message = body.subarray(PREFIX_BYTES);
  if (body[0] === 0) return message;
  if (body[0] !== COMPRESSED) throw malformed("the message has unknown flags");
  if (encoding === undefined || encoding === "identity")
    throw malformed("the message is compressed, but grpc-encoding does not name the compression");
  return message.length === 0 ? message : inflate(message, allowance);
}

/** Throws UNIMPLEMENTED on an unsupported encoding (gRPC compression specification). */
export function assertEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding === "identity" || encoding === "gzip") return;
  throw new HoltError(Code.UNIMPLEMENTED, `The compression "${encoding}" is not supported; use gzip`);
}

export function malformed(description: string): HoltError {
  return invalidArgument("", description);
}
