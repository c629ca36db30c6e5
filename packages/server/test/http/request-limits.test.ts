/** Limits of the memory that requests hold, and of the number of their elements, over every protocol. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import type { Run } from "../../src/api/call/run.ts";
import { MAX_ELEMENTS } from "../../src/api/element-limit.ts";
import type { HoltError } from "../../src/lib/errors.ts";
import { closed, openHttp2, openSocket, requestHttp2 } from "../harness/raw-clients.ts";
import { answerKindly, frame, startTransports } from "../harness/transport-server.ts";

const BATCH = "/platform.iam.v2.RoleBindingsService/BatchCreateRoleBindings";
const CREATE_GROUP = "/platform.iam.v2.GroupsService/CreateGroup";
const PROTOCOLS = ["application/grpc", "application/grpc-web+proto", "application/grpc+json", "application/proto", "application/json"];

/** Calls in the protocol of the content type, with the message unchanged. @returns the status as a gRPC number */
async function call(port: number, type: string, path: string, message: Uint8Array, isCompressed = false): Promise<number> {
  await using session = openHttp2(port);
  const isFramed = type.startsWith("application/grpc");
  const bytes = isCompressed ? gzipSync(message) : message;
  const encoding = isCompressed ? { [isFramed ? "grpc-encoding" : "content-encoding"]: "gzip" } : {};
  const headers = { ":method": "POST", ":path": path, "content-type": type, te: "trailers", ...encoding };
  const answer = await requestHttp2(session, headers, isFramed ? frame(bytes, isCompressed ? 1 : 0) : bytes);
  if (!isFramed) return CODES[String(answer.headers[":status"])] ?? -1;
  const said = answer.headers["grpc-status"] ?? answer.trailers["grpc-status"] ?? /grpc-status: (\d+)/.exec(String(answer.body))?.[1];
  return Number(said);
}
/** Connect's HTTP codes (Connect protocol, "Error Codes"). */
const CODES: Readonly<Record<string, number>> = { 200: status.OK, 400: status.INVALID_ARGUMENT, 429: status.RESOURCE_EXHAUSTED };

const batchOf = (type: string, requests: number): Buffer =>
  type.endsWith("json") ? Buffer.from(JSON.stringify({ requests: Array(requests).fill({}) })) : Buffer.alloc(2 * requests, "1200", "hex");

for (const type of PROTOCOLS) {
  test(`${type}: a message with too many elements is refused, however small it is`, async () => {
    await using server = await startTransports();
    assert.equal(await call(server.port, type, BATCH, batchOf(type, 5_000)), status.OK);
    assert.equal(await call(server.port, type, BATCH, batchOf(type, MAX_ELEMENTS + 1)), status.INVALID_ARGUMENT);
    assert.equal(await call(server.port, type, BATCH, batchOf(type, 1_300_000), true), status.INVALID_ARGUMENT);
  });

  test(`${type}: the memory that all calls hold together is limited, and freed when they end`, async () => {
    const gate = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    const run: Run = async (operation, source, metadata) => {
      const request = await source();
      read.resolve();
      await gate.promise;
      return answerKindly(operation, () => request, metadata);
    };
    await using server = await startTransports({ run, limits: { heldBytes: 160_000 } });
    const name = "x".repeat(60_000);
    const message = type.endsWith("json")
      ? Buffer.from(JSON.stringify({ parent: name }))
      : Buffer.from(`\x0a\xe0\xd4\x03${name}`, "latin1");
    const first = call(server.port, type, CREATE_GROUP, message);
    await read.promise;
    assert.equal(await call(server.port, type, CREATE_GROUP, message), status.RESOURCE_EXHAUSTED);
    assert.equal(await call(server.port, type, CREATE_GROUP, message, true), status.RESOURCE_EXHAUSTED, "decompressed");
    gate.resolve();
    assert.equal(await first, status.OK);
    assert.equal(await call(server.port, type, CREATE_GROUP, message, true), status.OK);
  });
}

/** Answers like `answerKindly`, and exposes the error of a request that could not be read. */
function watched(): { run: Run; begun: Promise<void>; failure: Promise<unknown> } {
  const failed = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<void>();
  const run: Run = async (operation, source, metadata) => {
    begun.resolve();
    try {
      return await answerKindly(operation, source, metadata);
    } catch (error) {
      failed.resolve(error);
      throw error;
    }
  };
  return { run, begun: begun.promise, failure: failed.promise };
}

test("a client that disconnects in the middle of its request frees the memory, and its call ends", async () => {
  const { run, begun, failure } = watched();
  await using server = await startTransports({ run, limits: { heldBytes: 160_000 } });
  await using session = openHttp2(server.port);
  const stream = session.request({ ":method": "POST", ":path": CREATE_GROUP, "content-type": "application/grpc" }).on("error", () => {});
  stream.write(Buffer.alloc(60_000));
  await begun;
  // The server has read what was sent before the ping.
  await new Promise((resolve) => session.ping(resolve));
  session.destroy();
  assert.equal(((await failure) as HoltError).code, status.CANCELLED);
  assert.equal(
    await call(server.port, "application/grpc", CREATE_GROUP, Buffer.from(`\x0a\xe0\xd4\x03${"x".repeat(60_000)}`, "latin1")),
    0,
  );
});

test("a stream that is reset is not served, even if the bytes received so far are a valid message", async () => {
  const { run, begun, failure } = watched();
  await using server = await startTransports({ run });
  const socket = openSocket(server.port);
  const text = (value: string) => Buffer.from([value.length, ...Buffer.from(value)]);
  // RFC 7541, appendix A: POST, http, an authority, a path, a content type.
  const headers = Buffer.concat([
    Buffer.from("838601", "hex"),
    text("h"),
    Buffer.from("04", "hex"),
    text(CREATE_GROUP),
    Buffer.from("0f10", "hex"),
    text("application/proto"),
  ]);
  socket.write(
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      http2Frame(4, 0, 0),
      http2Frame(1, 4, 1, headers),
      http2Frame(0, 0, 1, [10, 1, 97]),
    ]),
  );
  await begun;
  socket.write(http2Frame(3, 0, 1, [0, 0, 0, 8]));
  assert.equal(((await failure) as HoltError).code, status.CANCELLED);
  socket.destroy();
});

/** RFC 9113 §4.1. */
function http2Frame(type: number, flags: number, stream: number, payload: Iterable<number> = []): Buffer {
  const bytes = Buffer.from([...payload]);
  return Buffer.concat([Buffer.from([0, 0, bytes.length, type, flags, 0, 0, 0, stream]), bytes]);
}

for (const type of PROTOCOLS) {
  test(`${type}: a body that does not arrive in time ends its call`, async () => {
    const { run, failure } = watched();
    await using server = await startTransports({ run, limits: { requestMs: 200, headersMs: 200 } });
    await using session = openHttp2(server.port);
    const stream = session.request({ ":method": "POST", ":path": CREATE_GROUP, "content-type": type }).on("error", () => {});
    stream.write(Buffer.alloc(10));
    await closed(stream.resume());
    assert.equal(((await failure) as HoltError).code, status.CANCELLED);
  });
}

for (const type of PROTOCOLS) {
  test(`${type}: an empty body is read even if it ended before the call reads it`, async () => {
    const run: Run = async (operation, source, metadata) => {
      // The body came with the headers, so it ends meanwhile.
      for (let turn = 0; turn < 50; turn++) await nextTurn();
      return answerKindly(operation, source, metadata);
    };
    await using server = await startTransports({ run });
    await using session = openHttp2(server.port);
    const headers = { ":method": "POST", ":path": CREATE_GROUP, "content-type": type, te: "trailers" };
    const answer = await requestHttp2(session, headers, new Uint8Array(0));
    assert.ok(answer.headers[":status"]);
  });
}

test("reflection refuses large requests", async () => {
  await using server = await startTransports();
  await using session = openHttp2(server.port);
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
  const trailers = once(stream.resume(), "trailers");
  stream.write(frame(Buffer.alloc(10_000)));
  assert.equal((await trailers)[0]["grpc-status"], String(status.RESOURCE_EXHAUSTED));
});
