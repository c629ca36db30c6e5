/** The time limits of request bodies. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:http2";
import type { Writable } from "node:stream";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { allowLongBody } from "../../src/http/body-time.ts";
import { type RequestHandler, send } from "../../src/http/http-exchange.ts";
import { startTransports } from "../harness/transport-server.ts";

const limits = { requestMs: 500, headersMs: 400 };

/** Answers with the number of bytes received. Allows a long body for `/long` only. */
const count: RequestHandler = (request, response) => {
  if (request.url === "/long") allowLongBody(request, 400);
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on("end", () => send(response, 200, { type: "text/plain", text: String(bytes) }));
  request.on("error", () => {});
};

async function drip(body: Writable, pauses: readonly number[]): Promise<void> {
  for (const pause of pauses) {
    if (body.destroyed) return;
    body.write("x");
    await delay(pause);
  }
  if (!body.destroyed) body.end();
}

async function overHttp1(port: number, path: string, pauses: readonly number[]): Promise<string> {
  const request = httpRequest({ port, path, method: "PUT", headers: { "content-length": pauses.length } });
  const answered = once(request, "response").catch(() => undefined);
  request.on("error", () => {});
  await drip(request, pauses);
  const [response] = (await answered) ?? [];
  if (response === undefined) return "closed";
  let text = "";
  for await (const chunk of response) text += chunk;
  return response.statusCode === 200 ? text : String(response.statusCode);
}

async function overHttp2(port: number, path: string, pauses: readonly number[]): Promise<string> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const stream = session.request({ ":method": "PUT", ":path": path });
  stream.on("error", () => {});
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  const closed = once(stream, "close").catch(() => undefined);
  await drip(stream, pauses);
  await closed;
  session.destroy();
  return text === "" ? "closed" : text;
}

const slow = Array.from({ length: 10 }, () => 100);

for (const [name, transfer] of [
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
] as const) {
  test(`a body must arrive within the request timeout; a long body only must not pause (${name})`, async () => {
    await using server = await startTransports({ limits, rest: count });
    const [bounded, long, paused] = await Promise.all([
      transfer(server.port, "/short", slow),
      transfer(server.port, "/long", slow),
      transfer(server.port, "/long", [50, 1500, 50]),
    ]);
    assert.match(bounded, /^(408|closed)$/);
    assert.equal(long, "10");
    assert.equal(paused, "closed");
  });
}

test("a connection that carried a long body has its usual idle timeout again", async () => {
  await using server = await startTransports({ limits, rest: count });
  const { Agent } = await import("node:http");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const put = async () => {
    const request = httpRequest({ agent, port: server.port, path: "/long", method: "PUT", headers: { "content-length": 1 } });
    request.end("x");
    const [response] = await once(request, "response");
    response.resume();
    await once(response, "end");
    return request.reusedSocket;
  };
  assert.equal(await put(), false);
  await delay(1000);
  assert.equal(await put(), true);
  agent.destroy();
});
