/**
 * Reads the requests of Connect's handlers. Connect itself would read and decode a request before its sender is authenticated, so it gets
 * an empty message instead.
 */
import type { Message } from "@bufbuild/protobuf";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { HttpRequest } from "../../http/http-exchange.ts";
import { inflate, readBody } from "../../http/read-body.ts";
import type { Allowance } from "../../http/request-memory.ts";
import type { Operation } from "../call/operation.ts";
import { decodeBinary, decodeJson } from "./decode-message.ts";
import { frameMessage, PREFIX_BYTES, unframe } from "./message-framing.ts";

/** Leaves encodings other than gzip in the headers: Connect refuses them and names the supported ones. */
export function withoutMessage(request: UniversalServerRequest): UniversalServerRequest {
  const type = request.header.get("content-type") ?? "";
  const empty = Buffer.from(isJson(type) ? "{}" : "");
  request.header.delete("content-length");
  for (const name of ["content-encoding", "grpc-encoding"]) if (request.header.get(name) === "gzip") request.header.delete(name);
  return { ...request, body: bodyOf(isFramed(type) ? frameMessage(empty) : empty) };
}

async function* bodyOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

export async function readMessage(request: HttpRequest, { method }: Operation, allowance: Allowance): Promise<Message> {
  const { "content-type": type = "" } = request.headers;
  const bytes = await (isFramed(type) ? readFramed(request, allowance) : readPlain(request, allowance));
  return isJson(type) ? decodeJson(method.input, bytes) : decodeBinary(method.input, bytes);
}

/** gRPC and gRPC-Web. */
async function readFramed(request: HttpRequest, allowance: Allowance): Promise<Buffer> {
  const body = await readBody(request, allowance, PREFIX_BYTES);
  return unframe(body, request.headers["grpc-encoding"] as string | undefined, allowance);
}

/** The unary calls of the Connect protocol. */
async function readPlain(request: HttpRequest, allowance: Allowance): Promise<Buffer> {
  const body = await readBody(request, allowance);
  return request.headers["content-encoding"] === "gzip" && body.length > 0 ? inflate(body, allowance) : body;
}

function isFramed(contentType: string): boolean {
  return /^application\/grpc/i.test(contentType);
}

function isJson(contentType: string): boolean {
  return /[/+]json\b/i.test(contentType);
}
