/** Limits of the connections of one address and of one caller. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { test } from "node:test";
import { type RequestHandler, send } from "../../src/http/http-exchange.ts";
import { closed, openHttp2, openSocket, requestHttp2, resetRequests, talk, untilClosed } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";
import { until } from "../harness/wait.ts";

const CLOSING = "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";

/** Sends a request on an open connection. @returns the status */
async function ask(socket: Socket, caller = ""): Promise<number> {
  socket.write(`GET /x HTTP/1.1\r\nhost: h\r\n${caller === "" ? "" : `authorization: ${caller}\r\n`}\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  return Number(answer.toString("latin1").slice(9, 12));
}

const identify: RequestHandler = (request, response) => {
  try {
    response.answer?.identify(request.headers.authorization);
    send(response, 200, { type: "text/plain", text: "" });
  } catch {
    send(response, 429, { type: "text/plain", text: "" });
  }
};

test("a connection beyond the limit of its address is closed at once, until another one closes", async () => {
  await using server = await startTransports({ limits: { connectionsPerAddress: 2 }, rest: identify });
  const sockets = [openSocket(server.port), openSocket(server.port)];
  for (const socket of sockets) assert.equal(await ask(socket), 200);
  assert.equal(await talk(server.port, CLOSING), "");
  assert.equal(await untilClosed(openSocket(server.port)), "");
  sockets[0]?.destroy();
  await until(async () => (await talk(server.port, CLOSING)).startsWith("HTTP/1.1 200"));
  sockets[1]?.destroy();
});

test("the limit of an address does not hold for reverse proxies, and 0 turns it off", async () => {
  for (const options of [{ limits: { connectionsPerAddress: 1 }, proxies: ["127.0.0.0/8"] }, { limits: { connectionsPerAddress: 0 } }]) {
    await using server = await startTransports({ ...options, rest: identify });
    const sockets = Array.from({ length: 5 }, () => openSocket(server.port));
    for (const socket of sockets) assert.equal(await ask(socket), 200);
    for (const socket of sockets) socket.destroy();
  }
});

test("a caller is refused on a connection beyond its limit, and other callers are not", async () => {
  await using server = await startTransports({ limits: { connectionsPerCaller: 2 }, rest: identify });
  const [first, second, third] = Array.from({ length: 3 }, () => openSocket(server.port)) as [Socket, Socket, Socket];
  assert.equal(await ask(first, "alice"), 200);
  assert.equal(await ask(second, "alice"), 200);
  assert.equal(await ask(third, "alice"), 429);
  assert.equal(await ask(third, "bob"), 200);
  assert.equal(await ask(third), 200);
  assert.equal(await ask(first, "alice"), 200);
  first.destroy();
  await until(async () => (await ask(third, "alice")) === 200);
  for (const socket of [second, third]) socket.destroy();
});

test("a connection belongs to the caller who used it last", async () => {
  await using server = await startTransports({ limits: { connectionsPerCaller: 1 }, rest: identify });
  const [first, second] = [openSocket(server.port), openSocket(server.port)];
  assert.equal(await ask(first, "alice"), 200);
  assert.equal(await ask(second, "alice"), 429);
  assert.equal(await ask(first, "bob"), 200);
  assert.equal(await ask(second, "alice"), 200);
  for (const socket of [first, second]) socket.destroy();
});

test("all requests on one HTTP/2 connection count as one connection, and proxies have no limit per caller", async () => {
  const limits = { connectionsPerCaller: 1 };
  const status = async (session: ReturnType<typeof openHttp2>) =>
    (await requestHttp2(session, { ":path": "/x", authorization: "alice" })).headers[":status"];
  await using server = await startTransports({ limits, rest: identify });
  await using session = openHttp2(server.port);
  await using second = openHttp2(server.port);
  assert.deepEqual(await Promise.all([status(session), status(session), status(session)]), [200, 200, 200]);
  assert.equal(await status(second), 429);
  await using behindProxy = await startTransports({ limits, rest: identify, proxies: ["127.0.0.1/32"] });
  await using third = openHttp2(behindProxy.port);
  await using fourth = openHttp2(behindProxy.port);
  assert.deepEqual([await status(third), await status(fourth)], [200, 200]);
});

test("a connection is closed when the open streams of its address take too much memory, and their memory is free again", async () => {
  await using server = await startTransports({ limits: { streamBytesPerAddress: 100_000 }, rest: () => {} });
  const open = (session: ReturnType<typeof openHttp2>) =>
    session.request({ ":method": "POST", ":path": "/held", x: "a".repeat(20_000) }, { endStream: false }).on("error", () => {});
  for (let round = 0; round < 3; round++) {
    await using first = openHttp2(server.port);
    await using second = openHttp2(server.port);
    const streams = [open(first), open(first)];
    assert.equal((await requestHttp2(first, { ":path": "/healthz" })).headers[":status"], 200);
    const code = once(second, "goaway");
    open(second);
    assert.equal((await code)[0], constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await closed(second);
    assert.equal(streams.filter((stream) => stream.closed).length, 0, "the other connection of the address stays open");
    await using elsewhere = openHttp2(server.port, "127.0.0.2");
    assert.equal((await requestHttp2(elsewhere, { ":path": "/healthz", x: "a".repeat(20_000) })).headers[":status"], 200);
    first.destroy();
    await until(async () => (await statusOf(server.port)) === 200);
  }
});

test("streams that are reset as soon as they are opened count towards the memory of their address", async () => {
  let begun = 0;
  await using server = await startTransports({ limits: { streamBytesPerAddress: 200_000 }, rest: () => void begun++ });
  await resetRequests(server.port, 90);
  assert.ok(begun > 0 && begun <= 12, `${begun} requests`);
  assert.equal(await statusOf(server.port), 200, "the memory is free again");
});

test("a client behind a proxy loses a stream that would take too much memory, and the other clients of the connection lose none", async () => {
  await using server = await startTransports({ limits: { streamBytesPerAddress: 60_000 }, rest: () => {}, proxies: ["127.0.0.1/32"] });
  await using session = openHttp2(server.port);
  const open = (client: string) =>
    session
      .request({ ":method": "POST", ":path": "/held", x: "a".repeat(20_000), "x-forwarded-for": client }, { endStream: false })
      .on("error", () => {});
  const [held, other] = [open("192.0.2.1"), open("192.0.2.2")];
  const refused = open("192.0.2.1");
  await closed(refused);
  assert.equal(refused.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal((await requestHttp2(session, { ":path": "/healthz", "x-forwarded-for": "192.0.2.2" })).headers[":status"], 200);
  assert.deepEqual([held.closed, other.closed], [false, false]);
});

/** The status of a request with large headers; undefined if its connection is closed. */
async function statusOf(port: number): Promise<unknown> {
  await using session = openHttp2(port);
  const answer = await requestHttp2(session, { ":path": "/healthz", x: "a".repeat(30_000) }).catch(() => undefined);
  return answer?.headers[":status"];
}
