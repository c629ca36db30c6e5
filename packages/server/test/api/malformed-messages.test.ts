/** Health and reflection, which need no token, answer INVALID_ARGUMENT to bytes that are not their messages. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { openHttp2, requestHttp2 } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";

const METHODS = [
  "grpc.health.v1.Health/Check",
  "grpc.health.v1.Health/Watch",
  "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

function frame(message: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const NO_MESSAGE = Buffer.from("0affffffff0f", "hex");
const BODIES: Readonly<Record<string, Buffer>> = {
  "a length beyond the message": frame(NO_MESSAGE),
  "a wrong wire type": frame(Buffer.from("0f01", "hex")),
  "bytes that are not UTF-8": frame(Buffer.from("0a02fffe", "hex")),
  "compressed bytes that are not the message": frame(gzipSync(NO_MESSAGE), 1),
  "bytes that are not compressed": frame(Buffer.from("nothing"), 1),
  "an end within the message": frame(NO_MESSAGE).subarray(0, 8),
};

describe("malformed messages without a token", () => {
  let server: Awaited<ReturnType<typeof startTransports>>;
  before(async () => {
    server = await startTransports();
  });
  after(() => server[Symbol.asyncDispose]());

  for (const type of ["application/grpc", "application/grpc+proto", "application/grpc-web"]) {
    for (const [title, body] of Object.entries(BODIES)) {
      test(`${type} answers INVALID_ARGUMENT to ${title}`, async () => {
        await using session = openHttp2(server.port);
        for (const path of METHODS) {
          const headers = { ":method": "POST", ":path": `/${path}`, "content-type": type, te: "trailers", "grpc-encoding": "gzip" };
          const answer = await requestHttp2(session, headers, body);
          const text = `${JSON.stringify(answer.headers)} ${JSON.stringify((answer as unknown as { trailers?: object }).trailers ?? {})} ${answer.body}`;
          assert.match(text, /grpc-status"?: ?"?3\b/, `${path}: ${text}`);
          assert.doesNotMatch(text, /parse binary|premature|unzip|illegal|header check/i, text);
        }
      });
    }
  }

  test("a message that arrives byte by byte and one that is compressed are answered", async () => {
    await using session = openHttp2(server.port);
    const headers = { ":method": "POST", ":path": "/grpc.health.v1.Health/Check", "content-type": "application/grpc", te: "trailers" };
    const compressed = { ...headers, "grpc-encoding": "gzip" };
    for (const answer of [
      await requestHttp2(session, headers, frame(Buffer.alloc(0))),
      await requestHttp2(session, compressed, frame(gzipSync(Buffer.alloc(0)), 1)),
    ]) {
      assert.match(JSON.stringify(answer), /"grpc-status":"0"/);
    }
  });
});
