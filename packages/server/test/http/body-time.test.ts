/** The time limits of request bodies. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:http2";
import type { Writable } from "node:stream";
import { test } from "node:test";
import { allowLongBody } from "../../src/http/body-time.ts";
import { type RequestHandler, send } from "../../src/http/http-exchange.ts";
import { startTransports } from "../harness/transport-server.ts";
import { until } from "../harness/wait.ts";

/** Clients on a busy machine must send their headers within these times. */
const limits = { requestMs: 2500, headersMs: 2000 };

/** The longest pause of a long body, by path. Other bodies must arrive within `requestMs`. */
const pauses: Readonly<Record<string, number>> = { "/long": 600_000, "/paused": 2000 };

/** Answers with the number of bytes received. */
const count: RequestHandler = (request, response) => {
  const pause = pauses[request.url ?? ""];
  if (pause !== undefined) allowLongBody(request, pause);
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on("end", () => send(response, 200, { type: "text/plain", text: String(bytes) }));
  request.on("error", () => {});
};

/** Sends a body byte by byte until the promise resolves or the server cuts it off. @returns the number of bytes */
async function drip(body: Writable, isEnough: Promise<unknown>): Promise<number> {
  let isOver = false;
  void isEnough.then(() => {
    isOver = true;
  });
  let bytes = 0;
  await until(() => {
    if (!body.destroyed && bytes++ >= 0) body.write("x");
    return isOver || body.destroyed;
  });
  if (!body.destroyed) body.end();
  return bytes;
}

interface Transfer {
  readonly bytes: number;
  readonly answer: string;
}

async function overHttp1(port: number, path: string, send: (body: Writable) => Promise<number>): Promise<Transfer> {
  const request = httpRequest({ port, path, method: "PUT" });
  const answered = once(request, "response").catch(() => undefined);
  request.on("error", () => {});
  const bytes = await send(request);
  const [response] = (await answered) ?? [];
  if (response === undefined) return { bytes, answer: "closed" };
  let text = "";
  for await (const chunk of response) text += chunk;
  return { bytes, answer: response.statusCode === 200 ? text : String(response.statusCode) };
}

async function overHttp2(
  port: number,
  path: string,
  send: (body: Writable) => Promise<number>,
  type = "application/octet-stream",
): Promise<Transfer> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const stream = session.request({ ":method": "PUT", ":path": path, "content-type": type });
  stream.on("error", () => {});
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  const closed = once(stream, "close").catch(() => undefined);
  const bytes = await send(stream);
  await closed;
  session.destroy();
  return { bytes, answer: text === "" ? "closed" : text };
}

const never = new Promise<void>(() => {});

/** Sends one byte, and nothing more until the server cuts the body off. */
async function pause(body: Writable): Promise<number> {
  body.write("x");
  await until(() => body.destroyed);
  return 1;
}

for (const [name, transfer] of [
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
] as const) {
  test(`a body must arrive within the request timeout; a long body only must not pause (${name})`, async () => {
    await using server = await startTransports({ limits, rest: count });
    const { promise: isBoundedOver, resolve: endLong } = Promise.withResolvers<void>();
    const long = transfer(server.port, "/long", (body) => drip(body, isBoundedOver));
    const paused = await transfer(server.port, "/paused", pause);
    const bounded = await transfer(server.port, "/short", (body) => drip(body, never));
    // The long body began before a body that took too long.
    endLong();
    assert.match(bounded.answer, /^(408|closed)$/);
    const { answer, bytes } = await long;
    assert.equal(answer, String(bytes));
    assert.equal(paused.answer, "closed");
  });
}

test("a body with the content type of a streaming call must arrive in time where no such call is served", async () => {
  await using server = await startTransports({ limits, rest: count });
  const types = ["application/connect+json", "application/grpc", "application/grpc-web+proto"];
  const calls = types.flatMap((type) => ["/short", "/example.Unknown/Call"].map((path) => overHttp2(server.port, path, pause, type)));
  for (const { answer } of await Promise.all(calls)) assert.equal(answer, "closed");
});

test("a connection that carried a long body has its usual idle timeout again", async () => {
  await using server = await startTransports({ limits, rest: count });
  const { Agent } = await import("node:http");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const put = async () => {
    const request = httpRequest({ agent, port: server.port, path: "/paused", method: "PUT", headers: { "content-length": 1 } });
    request.end("x");
    const [response] = await once(request, "response");
    response.resume();
    await once(response, "end");
    return request.reusedSocket;
  };
  assert.equal(await put(), false);
  // This connection becomes idle later and closes because of it. The first one would be closed by then.
  assert.equal((await overHttp1(server.port, "/paused", pause)).answer, "closed");
  assert.equal(await put(), true);
  agent.destroy();
});
