import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type RequestHandler, send } from "../../src/http/http-exchange.ts";
import { closed, openHttp2, openSocket, requestHttp2, resetRequests, talk, untilClosed } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";
import { until } from "../harness/wait.ts";

const get = (path: string, extra = "") => `GET ${path} HTTP/1.1\r\nhost: holt\r\n${extra}\r\n`;

test("HTTP/1.1 and clear-text HTTP/2 are served on one port", async () => {
  await using server = await startTransports();
  const response = await fetch(`http://127.0.0.1:${server.port}/iam/v2/groups`);
  assert.deepEqual(await response.json(), { rest: "/iam/v2/groups" });
  await using session = openHttp2(server.port);
  const answer = await requestHttp2(session, { ":path": "/iam/v2/groups" });
  assert.equal(answer.headers[":status"], 200);
  assert.equal(String(answer.body), '{"rest":"/iam/v2/groups"}');
});

test("the listener detects the protocol however the first bytes are split", async () => {
  await using server = await startTransports();
  const socket = openSocket(server.port);
  for (const byte of get("/healthz", "connection: close\r\n")) await writeAlone(socket, byte);
  assert.match(await untilClosed(socket), /^HTTP\/1.1 200 OK[\s\S]*ok\n$/);
  const preface = openSocket(server.port);
  for (const byte of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") await writeAlone(preface, byte);
  preface.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  const [settings] = (await once(preface, "data")) as [Buffer];
  assert.equal(settings[3], 4, "the answer is a SETTINGS frame");
  preface.destroy();
});

test("a client that ends its side of the connection still gets its response", async () => {
  await using server = await startTransports();
  const socket = openSocket(server.port);
  socket.end(get("/healthz", "connection: close\r\n"));
  assert.match(await untilClosed(socket), /^HTTP\/1.1 200 OK/);
});

test("garbage is answered with 400 and the connection closed", async () => {
  await using server = await startTransports();
  assert.match(await talk(server.port, "\x16\x03\x01\x02\x00\x01garbage\r\n\r\n"), /^HTTP\/1.1 400 /);
  assert.match(await talk(server.port, "GET / HTTP/1.1\r\n\r\n"), /^HTTP\/1.1 400 /, "a request without a host");
  assert.match(await talk(server.port, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"), /^HTTP\/1.1 (400|505) /);
  assert.match(await talk(server.port, get("/", "content-length: 1\r\ntransfer-encoding: chunked\r\n")), /^HTTP\/1.1 400 /);
});

test("a body in a coding that the server does not decode is refused with 501", async () => {
  const rest: RequestHandler = (_request, response) => send(response, 200, { type: "text/plain", text: "read" });
  await using server = await startTransports({ rest });
  const post = (coding: string) => `POST /a HTTP/1.1\r\nhost: h\r\nconnection: close\r\ntransfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`;
  assert.match(await talk(server.port, post("gzip, chunked")), /^HTTP\/1.1 501 /);
  assert.match(await talk(server.port, post("Chunked")), /^HTTP\/1.1 200 /);
});

test("a request of HTTP/1.0 in chunks is refused with 400, and its connection closed", async () => {
  const rest: RequestHandler = (_request, response) => send(response, 200, { type: "text/plain", text: "read" });
  await using server = await startTransports({ rest });
  const head = "POST /a HTTP/1.0\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n";
  for (const length of ["", "content-length: 5\r\n"])
    assert.match(await talk(server.port, `${head}${length}\r\n0\r\n\r\n${get("/healthz")}`), /^HTTP\/1.1 400 (?!.*HTTP\/1.1)/s);
});

test("garbage after the preface of HTTP/2 closes the connection", async () => {
  await using server = await startTransports();
  const answer = await talk(server.port, `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(64)}`);
  assert.ok(answer.length > 0);
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200, "the server still runs");
});

test("too many header bytes are answered with 431", async () => {
  await using server = await startTransports();
  assert.match(await talk(server.port, get("/", `x: ${"a".repeat(40_000)}\r\n`)), /^HTTP\/1.1 431 /);
  assert.match(await talk(server.port, get("/", "x: y\r\n".repeat(200))), /^HTTP\/1.1 431 /, "too many fields are refused too");
  await using session = openHttp2(server.port);
  const answer = await requestHttp2(session, { ":path": "/", x: "a".repeat(40_000) });
  assert.equal(answer.headers[":status"], 431);
  const again = await requestHttp2(session, { ":path": "/", x: "a".repeat(40_000) });
  assert.equal(again.headers[":status"], 431, "also for a client that knows the limit");
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x${i}`, "y"]));
  assert.equal((await requestHttp2(session, { ":path": "/", ...fields })).headers[":status"], 431);
  await assert.rejects(requestHttp2(session, { ":path": "/", x: "a".repeat(65_500) }), "far more headers reset the stream");
  assert.equal((await requestHttp2(session, { ":path": "/healthz" })).headers[":status"], 200, "the connection stays usable");
});

test("too much metadata is answered in gRPC with RESOURCE_EXHAUSTED", async () => {
  await using server = await startTransports();
  await using session = openHttp2(server.port);
  for (const type of ["application/grpc", "application/grpc-web+proto"]) {
    const headers = { ":method": "POST", ":path": "/platform.ping.v2.PingService/Ping", "content-type": type, te: "trailers" };
    const answer = await requestHttp2(session, { ...headers, x: "a".repeat(40_000) });
    assert.equal(answer.headers[":status"], 200);
    assert.equal(answer.headers["content-type"], type);
    assert.equal(answer.headers["grpc-status"], "8");
    assert.match(String(answer.headers["grpc-message"]), /headers of the request are larger/);
  }
});

test("a URL that is too long is answered with 414 and a structured error", async () => {
  await using server = await startTransports();
  const response = await fetch(`http://127.0.0.1:${server.port}/${"a".repeat(17_000)}`);
  assert.equal(response.status, 414);
  assert.equal(((await response.json()) as { code: number }).code, 3);
});

test("a client that sends nothing, or its headers too slowly, is cut off", async () => {
  await using impatient = await startTransports({ limits: { firstByteMs: 200 } });
  const silent = untilClosed(openSocket(impatient.port));
  // A server of its own: on a slow machine, the first byte could come late, too.
  await using server = await startTransports({ limits: { headersMs: 300 } });
  const slow = openSocket(server.port);
  const dripping = setInterval(() => slow.write("x"), 50);
  slow.write("GET / HTTP/1.1\r\nhost: holt\r\nx: ");
  assert.equal(await silent, "");
  assert.match(await untilClosed(slow), /^HTTP\/1.1 408 /);
  clearInterval(dripping);
});

test("a request whose body does not arrive in time is cut off", async () => {
  const rest = (incoming: { on(event: string, listener: () => void): unknown }) => void incoming.on("data", () => {});
  await using server = await startTransports({ limits: { requestMs: 400, headersMs: 300 }, rest });
  const slow = openSocket(server.port);
  slow.write("POST /x HTTP/1.1\r\nhost: holt\r\ncontent-length: 10\r\n\r\n12");
  assert.match(await untilClosed(slow), /^HTTP\/1.1 408 /);
  await using session = openHttp2(server.port);
  const stream = session.request({ ":path": "/x", ":method": "POST" }).on("error", () => {});
  stream.write("12");
  await closed(stream);
  assert.equal(stream.rstCode, 8, "CANCEL");
});

test("a client that does not read its response is cut off", async () => {
  const cutOff = Promise.withResolvers<void>();
  const rest: RequestHandler = (_request, response) => {
    response.once("close", cutOff.resolve);
    send(response, 200, { type: "text/plain", text: "x".repeat(32 << 20) });
  };
  await using server = await startTransports({ limits: { stalledMs: 300 }, rest });
  const socket = openSocket(server.port);
  socket.write(get("/x"));
  socket.pause();
  await cutOff.promise;
  socket.destroy();
});

test("a connection that is idle between requests is closed after the keep-alive timeout", async () => {
  await using server = await startTransports({ limits: { keepAliveMs: 100 } });
  const socket = openSocket(server.port);
  socket.write(get("/healthz"));
  assert.match(await untilClosed(socket), /^HTTP\/1.1 200 OK/);
});

test("a handler that throws fails its own request only", async () => {
  const rest = () => {
    throw new Error("a bug");
  };
  await using server = await startTransports({ rest });
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/x`)).status, 500);
  await using session = openHttp2(server.port);
  assert.equal((await requestHttp2(session, { ":path": "/x" })).headers[":status"], 500);
  assert.equal((await requestHttp2(session, { ":path": "/healthz" })).headers[":status"], 200);
});

test("connections beyond the limit are refused", async () => {
  await using server = await startTransports({ limits: { connections: 1 } });
  const first = openSocket(server.port);
  first.write(get("/healthz"));
  await once(first, "data");
  assert.equal(await untilClosed(openSocket(server.port)), "");
  first.destroy();
});

test("pings on an idle HTTP/2 connection are answered", async () => {
  await using server = await startTransports();
  await using session = openHttp2(server.port);
  await once(session, "connect");
  for (let i = 0; i < 50; i++)
    await new Promise((resolve, reject) => session.ping((error) => (error === null ? resolve(undefined) : reject(error))));
});

test("an HTTP/2 connection without a stream is closed after the idle timeout, and one with a stream is not", async () => {
  await using server = await startTransports({ limits: { sessionIdleMs: 2000 }, rest: () => {} });
  await using idle = openHttp2(server.port);
  await using busy = openHttp2(server.port);
  busy.request({ ":path": "/waiting" }).on("error", () => {});
  await closed(idle);
  await using later = openHttp2(server.port);
  await closed(later);
  assert.equal(busy.closed, false);
});

test("a flood of resets closes the connection, and the server goes on", async () => {
  await using server = await startTransports();
  await using session = openHttp2(server.port);
  const gone = closed(session);
  for (let round = 0; round < 200 && !session.closed; round++) {
    for (let i = 0; i < 50 && !session.closed; i++)
      session
        .request({ ":path": "/" })
        .on("error", () => {})
        .close(8);
    await nextTurn();
  }
  await gone;
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
});

test("a client that resets its requests at once gets at most twice as many served as it may have open", async () => {
  let begun = 0;
  await using server = await startTransports({ limits: { streamsPerConnection: 10 }, rest: () => void begun++ });
  await resetRequests(server.port, 500);
  assert.ok(begun > 0 && begun <= 20, `${begun} requests`);
});

test("draining lets running requests end, closes idle connections and takes no new ones", async () => {
  const running = Promise.withResolvers<void>();
  let begun = 0;
  await using server = await startTransports({
    rest(_request, response) {
      begun++;
      void running.promise.then(() => send(response, 200, { type: "text/plain", text: "done" }));
    },
  });
  const idle = openSocket(server.port);
  idle.write(get("/healthz"));
  await once(idle, "data");
  const http1 = fetch(`http://127.0.0.1:${server.port}/slow`);
  await using session = openHttp2(server.port);
  const http2 = requestHttp2(session, { ":path": "/slow" });
  const goaway = once(session, "goaway");
  const idleEnd = closed(idle);
  await until(() => begun === 2);

  let isDrained = false;
  const drained = server.listener.drain().then(() => {
    isDrained = true;
  });
  await goaway;

  await idleEnd;

  assert.equal(await untilClosed(openSocket(server.port)), "");
  assert.equal(isDrained, false);
  running.resolve();

  const response = await http1;
  assert.equal(response.headers.get("connection"), "close");
  assert.equal(await response.text(), "done");

  assert.equal(String((await http2).body), "done");
  await drained;
});

test("a request that arrives on a kept-alive connection after draining began is answered, and the connection is closed", async () => {
  await using server = await startTransports();
  const socket = openSocket(server.port);
  socket.write(get("/healthz"));
  await once(socket, "data");
  const answer = untilClosed(socket);
  const drained = server.listener.drain();
  socket.write(get("/healthz"));
  assert.match(await answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i);
  await drained;
});

test("disposing closes everything, whatever is running", async () => {
  let begun = 0;
  const server = await startTransports({ rest: () => void begun++ });
  const running = untilClosed(
    openSocket(server.port).on("connect", function (this: { write(text: string): void }) {
      this.write(get("/slow"));
    }),
  );
  await using session = openHttp2(server.port);
  const gone = closed(session);
  session.request({ ":path": "/slow" }).on("error", () => {});
  await until(() => begun === 2);
  await server[Symbol.asyncDispose]();
  assert.equal(await running, "");
  await gone;
});

test("a client that disconnects in the middle of a request does not disturb the server", async () => {
  let begun = 0;
  await using server = await startTransports({ rest: () => void begun++ });
  for (let i = 1; i <= 20; i++) {
    const outgoing = request({ port: server.port, host: "127.0.0.1", path: "/x", method: "POST" }).on("error", () => {});
    outgoing.write("half");
    const session = openHttp2(server.port);
    session
      .request({ ":path": "/x", ":method": "POST" })
      .on("error", () => {})
      .write("half");
    await until(() => begun === 2 * i);
    outgoing.destroy();
    session.destroy();
  }
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
});

/** Sends the byte in a segment of its own, and lets the server read it. */
async function writeAlone(socket: Socket, byte: string): Promise<void> {
  await new Promise((resolve) => socket.setNoDelay().write(byte, resolve));
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}
