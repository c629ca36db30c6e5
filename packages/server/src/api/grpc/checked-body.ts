/**
 * Checks the messages of services that the Connect library serves alone: health and reflection. The library answers
 * INTERNAL, with the text of its parser, to bytes that are not the message.
 */
import { gunzipSync } from "node:zlib";
import { type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { Answer } from "../../http/answer.ts";
import type { HoltError } from "../../lib/errors.ts";
import { COMPRESSED, PREFIX_BYTES } from "./message-framing.ts";

/** Refuses the request while its sender has too many unread answers, as calls do. */
export function withReader(request: UniversalServerRequest, answer: Answer | undefined): UniversalServerRequest {
  const { body } = request;
  return isBytes(body) ? { ...request, body: whileRead(body, answer) } : request;
}

async function* whileRead(body: AsyncIterable<Uint8Array>, answer: Answer | undefined): AsyncIterable<Uint8Array> {
  try {
    answer?.identify(undefined);
  } catch (error) {
    throw new ConnectError((error as HoltError).message, Code.ResourceExhausted);
  }
  yield* body;
}

/** @param maxBytes larger messages are passed on, since the library refuses them without parsing */
export function withCheckedBody(request: UniversalServerRequest, schema: DescMessage, maxBytes: number): UniversalServerRequest {
  const { body } = request;
  const type = request.header.get("content-type") ?? "";
  if (!isBytes(body) || /json/i.test(type)) return request;
  const namesGzip = (header: string) => request.header.get(header) === "gzip";
  const check = (bytes: Uint8Array, isCompressed: boolean) => assertMessage(schema, bytes, { isCompressed, maxBytes });
  if (type.startsWith("application/proto"))
    return { ...request, body: checkWhole(body, maxBytes, (all) => check(all, namesGzip("content-encoding"))) };
  const isGzip = namesGzip("grpc-encoding") || namesGzip("connect-content-encoding");
  const checkFrame = (flags: number, bytes: Uint8Array) => {
    const isCompressed = (flags & COMPRESSED) !== 0;
    if (isCompressed && !isGzip) throw malformed("the message is compressed, but no header names the compression");
    check(bytes, isCompressed);
  };
  return { ...request, body: checkFrames(body, maxBytes, checkFrame) };
}

function isBytes(body: UniversalServerRequest["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

async function* checkWhole(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  check: (bytes: Uint8Array) => void,
): AsyncIterable<Uint8Array> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of body) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length > maxBytes) {
      yield bytes;
      bytes = Buffer.alloc(0);
    }
  }
  check(bytes);
  yield bytes;
}

async function* checkFrames(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  check: (flags: number, bytes: Uint8Array) => void,
): AsyncIterable<Uint8Array> {
  let bytes = Buffer.alloc(0);
  let isTooLong = false;
  for await (const chunk of body) {
    bytes = Buffer.concat([bytes, chunk]);
    for (let end = endOf(bytes); !isTooLong && end !== undefined; end = endOf(bytes)) {
      isTooLong = end - PREFIX_BYTES > maxBytes;
      if (isTooLong || bytes.length < end) break;
      check(bytes[0]!, bytes.subarray(PREFIX_BYTES, end));
      yield bytes.subarray(0, end);
      bytes = bytes.subarray(end);
    }
    if (isTooLong) {
      yield bytes;
      bytes = Buffer.alloc(0);
    }
  }
  if (bytes.length > 0) throw malformed("the request ends within its message");
}

/** The end of the first frame; undefined while its length is not known. */
function endOf(bytes: Buffer): number | undefined {
  return bytes.length < PREFIX_BYTES ? undefined : PREFIX_BYTES + bytes.readUInt32BE(1);
}

interface CheckOptions {
  readonly isCompressed: boolean;
  readonly maxBytes: number;
}

function assertMessage(schema: DescMessage, bytes: Uint8Array, { isCompressed, maxBytes }: CheckOptions): void {
  try {
    const message = isCompressed && bytes.length > 0 ? gunzipSync(bytes, { maxOutputLength: maxBytes }) : bytes;
    fromBinary(schema, message, { readUnknownFields: false });
  } catch (error) {
    // More than the limit: the library refuses it.
    if ((error as NodeJS.ErrnoException).code !== "ERR_BUFFER_TOO_LARGE") throw malformed(`the request is not a ${schema.typeName}`);
  }
}

function malformed(description: string): ConnectError {
  return new ConnectError(`Invalid argument: ${description}`, Code.InvalidArgument);
}
