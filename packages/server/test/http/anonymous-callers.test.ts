/** The server neither waits for the bodies of anonymous callers nor parses them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import { startServer, type TestServer } from "../harness/harness.ts";
import { openHttp2, openSocket, talk } from "../harness/raw-clients.ts";
import { never, PATIENCE_MS } from "../harness/wait.ts";

let server: TestServer;
before(async () => {
  // A body never arrives in time, and none is late.
  server = await startServer({ limits: { requestMs: 2 * PATIENCE_MS, stalledMs: 2 * PATIENCE_MS } });
});
after(() => server[Symbol.asyncDispose]());

/** Makes a test fail if the response waits for the body. */
const inTime = () => ({ signal: AbortSignal.timeout(PATIENCE_MS) });

const CREATE_GROUP = "/platform.iam.v2.GroupsService/CreateGroup";
const EXCHANGE = "/platform.oidc.v1.SecurityTokenService/Exchange";

for (const [protocol, path, type] of [
  ["REST", "/iam/v2/groups", "application/json"],
  ["Connect", CREATE_GROUP, "application/proto"],
  ["gRPC-Web", CREATE_GROUP, "application/grpc-web+proto"],
] as const) {
  test(`${protocol}: an anonymous caller is refused before its body has arrived or is parsed`, async (t) => {
    const socket = openSocket(server.port).setEncoding("latin1");
    t.after(() => socket.destroy());
    socket.write(`POST ${path} HTTP/1.1\r\nhost: h\r\ncontent-type: ${type}\r\ncontent-length: 1000\r\n\r\n\xff{`);
    let text = "";
    while (!/ 401 |"unauthenticated"|grpc-status: 16/.test(text)) text += (await once(socket, "data", inTime()))[0];
  });
}

for (const [protocol, path, type] of [
  ["REST", "/iam/v2/groups", "application/json"],
  ["gRPC", CREATE_GROUP, "application/grpc"],
  ["gRPC with JSON", CREATE_GROUP, "application/grpc+json"],
  ["Connect", CREATE_GROUP, "application/json"],
] as const) {
  test(`${protocol} over HTTP/2: an anonymous caller is refused before its body has arrived, and asked to stop sending`, async () => {
    await using session = openHttp2(server.port);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, te: "trailers" });
    stream.on("trailers", (trailers) => Object.assign(headers, trailers));
    let headers: Record<string, unknown> = {};
    stream.on("response", (received) => {
      headers = { ...received };
    });
    stream.write(Buffer.alloc(20_000, 0xff));
    await once(stream.resume(), "close", inTime());
    assert.ok(headers[":status"] === 401 || headers["grpc-status"] === String(status.UNAUTHENTICATED), JSON.stringify(headers));
    assert.equal(stream.rstCode, 0);
  });
}

test("the connection of an anonymous caller that was refused can be used again", async () => {
  const body = JSON.stringify({ name: "x".repeat(100_000) });
  for (let i = 0; i < 3; i++) assert.equal((await server.http("POST", "/iam/v2/groups", body, {})).status, 401);
  assert.equal((await server.http("POST", `/iam/v2/groups/${server.orgUid}`, '{"name":"known"}')).status, 200);
});

test("operations that need no token accept small messages only, also after decompression", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  assert.equal((await server.http("POST", "/sts/exchange", "a".repeat(65_536), form)).status, 401);
  assert.equal((await server.http("POST", "/sts/exchange", "a".repeat(65_537), form)).status, 413);
  const head = `POST /sts/exchange HTTP/1.1\r\nhost: h\r\ncontent-type: ${form["content-type"]}\r\n`;
  const request = (body: string, close = "") => `${head}content-length: ${body.length}\r\n${close}\r\n${body}`;
  const answers = await talk(server.port, request("a".repeat(100_000)) + request("a", "connection: close\r\n"));
  assert.match(answers, /^HTTP\/1.1 413 .*HTTP\/1.1 401 /s, "the connection can be used again");
  const small = gzipSync(JSON.stringify({ identity: "a".repeat(100_000) }));
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  const answer = await server.http("POST", EXCHANGE, small, headers);
  assert.equal((JSON.parse(answer.text) as { code: string }).code, "resource_exhausted");
});

test("anonymous callers that send their requests slowly do not hold slots of the concurrency limit", async (t) => {
  await using small = await startServer({ env: { HOLT_MAX_CONCURRENT_CALLS: "2" } });
  const slow = ["/sts/exchange", "/token", "/oauth/token", "/oauth/answer"].map((path) => {
    const socket = openSocket(small.port);
    socket.write(`POST ${path} HTTP/1.1\r\nhost: h\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 10\r\n\r\na`);
    return socket;
  });
  t.after(() => slow.map((socket) => socket.destroy()));
  await never(async () => assert.equal((await small.http("GET", `/iam/v2/groups/${small.orgUid}`)).status, 200));
});
