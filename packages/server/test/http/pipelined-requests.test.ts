/** Tests requests that a client sends on one connection of HTTP/1.1 before the earlier ones are answered. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { type HttpResponse, type RequestHandler, send } from "../../src/http/http-exchange.ts";
import { openSocket, talk, untilClosed } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";
import { giveTime, until } from "../harness/wait.ts";

const get = (path: string, extra = "") => `GET ${path} HTTP/1.1\r\nhost: holt\r\n${extra}\r\n`;

test("pipelined requests on one connection are all answered", async () => {
  await using server = await startTransports();
  const answers = await talk(server.port, get("/a") + get("/b") + get("/c", "connection: close\r\n"));
  assert.deepEqual(answers.match(/"rest":"\/\w"/g), ['"rest":"/a"', '"rest":"/b"', '"rest":"/c"']);
});

test("a connection answers as many pipelined requests as its limit allows, and is closed then", async () => {
  const served: string[] = [];
  const gate = Promise.withResolvers<void>();
  const rest: RequestHandler = (received, response) => {
    served.push(received.url ?? "");
    received.resume();
    void Promise.all([gate.promise, once(received, "end")]).then(() => send(response, 200, { type: "text/plain", text: "done;" }));
  };
  for (const more of [get("/more"), get("/more", "expect: 100-continue\r\n")]) {
    await using server = await startTransports({ limits: { pipelinedRequests: 3 }, rest });
    const socket = openSocket(server.port);
    const text = untilClosed(socket);
    served.length = 0;
    socket.write(`${get("/a")}${get("/b")}POST /last HTTP/1.1\r\nhost: holt\r\ncontent-length: 2\r\n\r\n`);
    await until(() => served.length === 3);
    socket.write(`{}${more.repeat(50)}`);
    socket.write(more.repeat(50));
    gate.resolve();
    const answers = (await text).split(/(?=HTTP\/1\.1 )/);
    assert.deepEqual(
      answers.map((answer) => [answer.slice(9, 12), /connection: close/i.test(answer), answer.slice(-5)]),
      [false, false, true].map((isLast) => ["200", isLast, "done;"]),
    );
    assert.deepEqual(served, ["/a", "/b", "/last"]);
  }
});

test("a connection is closed after as many requests as its limit allows if all arrive at once, also if each is answered at once", async () => {
  let served = 0;
  const rest: RequestHandler = (received, response) => {
    received.once("end", () => send(response, 200, { type: "text/plain", text: "" })).resume();
    served++;
  };
  await using server = await startTransports({ limits: { pipelinedRequests: 10 }, rest });
  const socket = openSocket(server.port);
  // The first request shows that the limit is not of the whole connection.
  for (const count of [1, 9, 300]) {
    const before = served;
    socket.write("POST /x HTTP/1.1\r\nhost: holt\r\ncontent-length: 2\r\n\r\n{}".repeat(count));
    await until(() => served >= before + Math.min(count, 10));
  }
  await untilClosed(socket.resume());
  assert.equal(served, 20);
});

test("a connection gets no listeners from the requests that its client left unanswered", async () => {
  const held: HttpResponse[] = [];
  await using server = await startTransports({ rest: (_received, response) => void held.push(response) });
  const client = openSocket(server.port);
  client.write(get("/held").repeat(12));
  await until(() => held.length === 12);
  const { socket } = held[0]!.req;
  const listeners = socket.listenerCount("close");
  client.destroy();
  await until(() => socket.closed);
  for (const response of held) response.destroy();
  await until(() => held.every(({ closed }) => closed));
  assert.ok(socket.listenerCount("close") <= listeners, `${socket.listenerCount("close")} instead of ${listeners}`);
});

test("a client that sends on after the last request of a connection still gets all responses, and only the last request's", async () => {
  const text = "x".repeat(8 * 1024 * 1024);
  const served: string[] = [];
  const rest: RequestHandler = (received, response) => {
    served.push(received.url ?? "");
    send(response, 200, { type: "text/plain", text });
  };
  await using server = await startTransports({ rest });
  const socket = openSocket(server.port);
  socket.pause();
  socket.write(get("/large") + get("/last", "connection: close\r\n"));
  await until(() => served.length === 2);
  socket.write(get("/ignored"));
  // The server closes its side when it has handed all bytes to the network, long before a slow reader has them.
  let received = 0;
  for await (const bytes of socket) {
    received += bytes.length;
    if (!socket.destroyed && received < 2 * text.length) socket.write(get("/ignored"));
  }
  assert.ok(received > 2 * text.length, `${received} bytes`);
  assert.deepEqual(served, ["/large", "/last"]);
});

test("a malformed request is refused after the requests before it are answered", async () => {
  const release = Promise.withResolvers<void>();
  const rest: RequestHandler = (received, response) => {
    void release.promise.then(() => send(response, 200, { type: "text/plain", text: `for ${received.url}` }));
  };
  await using server = await startTransports({ rest });
  const socket = openSocket(server.port);
  socket.write(get("/a") + get("/b"));
  const text = untilClosed(socket);
  socket.write("garbage\r\n\r\n");
  socket.write("more garbage");
  await giveTime(50);
  release.resolve();
  assert.match(await text, /^HTTP\/1.1 200 [\s\S]*for \/aHTTP\/1.1 200 [\s\S]*for \/bHTTP\/1.1 400 /);
});
