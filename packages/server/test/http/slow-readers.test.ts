/** Answers that nobody reads are counted, limited and closed, over every protocol. Judged by counted bytes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { describe, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code as ConnectCode } from "@connectrpc/connect";
import { ListReposRequestSchema, type ListReposResponseSchema, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { JsonText } from "../../src/api/call/call.ts";
import type { Run } from "../../src/api/call/run.ts";
import { type RequestHandler, send } from "../../src/http/http-exchange.ts";
import type { TransportLimits } from "../../src/http/transport-limits.ts";
import type { HoltError } from "../../src/lib/errors.ts";
import { closed, openHttp2, requestHttp2 } from "../harness/raw-clients.ts";
import { askAndStop, headersOf, openStoppable, openWithoutWindow } from "../harness/slow-clients.ts";
import { frame, startTransports, type TransportOptions } from "../harness/transport-server.ts";
import { until } from "../harness/wait.ts";

const MIB = 1024 * 1024;
const limits: Partial<TransportLimits> = {
  answerBytes: 8 * MIB,
  answerBytesPerCaller: 4 * MIB,
  anonymousAnswerBytes: 8 * MIB,
  answerBytesPerAddress: 4 * MIB,
  readIdleMs: 60_000,
};

/** Bytes of answers by path: `/large` is more than the kernel takes. */
const SIZES: Readonly<Record<string, number>> = { "/large": 32 * MIB, "/small": 1024 };

/** Answers 1 MiB to the caller of the header, as REST does for a list, or as the path says. */
const serveMebibyte: RequestHandler = (request, response) => {
  const text = "x".repeat(SIZES[request.url ?? ""] ?? MIB);
  try {
    response.answer?.identify(request.headers.authorization);
    response.answer?.reserve(text.length);
    send(response, 200, { type: "text/plain", text });
  } catch (error) {
    send(response, 429, { type: "text/plain", text: (error as HoltError).message });
  }
};

const start = (options: TransportOptions = {}) =>
  startTransports({ rest: serveMebibyte, ...options, limits: { ...limits, ...options.limits } });
const as = (authorization: string | undefined) => (authorization === undefined ? {} : { authorization });

async function statusesOf(session: ClientHttp2Session, count: number, caller?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push(Number((await headersOf(session, { ":path": "/x", ...as(caller) }))[":status"]));
  return statuses;
}

const countOf = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length;

describe("the budget of unread bytes", () => {
  test("a caller has as many unread answers as its budget has room for, and other callers have theirs", async () => {
    await using server = await start();
    await using session = openWithoutWindow(server.port);
    assert.deepEqual(await statusesOf(session, 6, "alice"), [200, 200, 200, 200, 429, 429]);
    assert.deepEqual(await statusesOf(session, 1, "bob"), [200]);
  });

  test("anonymous callers have a budget by address", async () => {
    await using server = await start();
    await using session = openWithoutWindow(server.port);
    assert.deepEqual(await statusesOf(session, 5), [200, 200, 200, 200, 429]);
    assert.deepEqual(await statusesOf(session, 1, "alice"), [200]);
  });

  test("all callers together have unread answers within the budget of the process, and leave room for small ones", async () => {
    await using server = await start();
    await using session = openWithoutWindow(server.port);
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) statuses.push(...(await statusesOf(session, 1, `caller-${i}`)));
    // The eighth answer would leave nothing to others.
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 200, 429, 429, 429]);
    assert.equal((await headersOf(session, { ":path": "/small", ...as("caller-10") }))[":status"], 200);
  });

  test("the budget is free again when the answers are read", async () => {
    await using server = await start();
    await using session = openWithoutWindow(server.port);
    const streams: ClientHttp2Stream[] = [];
    for (let i = 0; i < 4; i++) {
      const stream = session.request({ ":path": "/x", ...as("alice") });
      streams.push(stream);
      await once(stream, "response");
    }
    assert.deepEqual(await statusesOf(session, 1, "alice"), [429]);
    session.settings({ initialWindowSize: MIB });
    for (const stream of streams) {
      let bytes = 0;
      for await (const chunk of stream) bytes += (chunk as Buffer).length;
      assert.equal(bytes, MIB);
    }
    await until(async () => countOf(await statusesOf(session, 1, "alice"), 200) === 1);
  });

  test("the budget is free again when the connection is closed", async () => {
    await using server = await start();
    const session = openWithoutWindow(server.port);
    assert.equal(countOf(await statusesOf(session, 5, "alice"), 200), 4);
    session.destroy();
    await using other = openWithoutWindow(server.port);
    await until(async () => countOf(await statusesOf(other, 1, "alice"), 200) === 1);
  });

  test("an answer that is larger than the budget is sent while nothing else waits", async () => {
    await using server = await start({ limits: { answerBytesPerCaller: 1000, answerBytes: 2000 } });
    const response = await fetch(`http://127.0.0.1:${server.port}/x`, { headers: as("alice") });
    assert.equal((await response.text()).length, MIB);
  });

  test("an answer over HTTP/1.1 that the kernel does not take counts until its connection is closed", async () => {
    await using server = await start({ limits: { answerBytes: 64 * MIB } });
    const unread = await askAndStop(server.port, "/large", as("alice"));
    assert.equal(unread.status, 200);
    const refused = await askAndStop(server.port, "/x", as("alice"));
    assert.equal(refused.status, 429);
    assert.match(refused.text, /Resource exhausted: this identity has as many unread bytes of responses as its limit allows/);
    const other = await askAndStop(server.port, "/x", as("bob"));
    assert.equal(other.status, 200);
    unread.socket.destroy();
    await until(async () => (await fetch(`http://127.0.0.1:${server.port}/x`, { headers: as("alice") })).status === 200);
    for (const { socket } of [refused, other]) socket.destroy();
  });
});

test("gRPC reflection is refused while an anonymous caller has too many unread answers, and health checks are not", async () => {
  await using server = await startTransports({ limits: { anonymousAnswerBytes: 200_000, answerBytesPerAddress: 60_000 } });
  await using unread = openWithoutWindow(server.port);
  await using session = openHttp2(server.port);
  const symbol = Buffer.from(ReposService.typeName);
  const reflection = frame(Buffer.concat([Buffer.from([0x22, symbol.length]), symbol]));
  const headersFor = (path: string) => ({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
  const statusOf = async (path: string, message: Buffer) =>
    (await requestHttp2(session, headersFor(path), message)).trailers["grpc-status"];
  const info = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  assert.equal(await statusOf(info, reflection), "0");
  for (let asked = 0; asked < 4; asked++) {
    const stream = unread.request(headersFor(info)).on("error", () => {});
    stream.end(reflection);
    await once(stream, "response");
  }
  const refused = String(ConnectCode.ResourceExhausted);
  await until(async () => (await statusOf(info, reflection)) === refused);
  assert.equal(await statusOf("/grpc.health.v1.Health/Check", frame(Buffer.alloc(0))), "0");
  for (const path of ["/healthz", "/readyz"]) assert.equal((await requestHttp2(session, { ":path": path })).headers[":status"], 200);
});

/** A list of 1 MiB, for a caller named by the token. */
const list: Run = async ({ method }, source, metadata) => {
  metadata.identify(metadata.authorization);
  await source();
  const body = JSON.stringify({ repos: [{ name: "x".repeat(MIB) }] });
  return new JsonText(method.output as typeof ListReposResponseSchema, body);
};
const LIST = `/${ReposService.typeName}/ListRepos`;
const REQUEST = frame(toBinary(ListReposRequestSchema, create(ListReposRequestSchema)));

describe("the budget of unread bytes over gRPC", () => {
  async function codeOf(session: ClientHttp2Session, type: string): Promise<number> {
    const stream = session.request({ ":method": "POST", ":path": LIST, "content-type": type, te: "trailers", authorization: "alice" });
    stream.on("error", () => {}).end(REQUEST);
    const [headers] = await once(stream, "response");
    // An error has its status in the headers. The status of a reply comes after its unread bytes.
    return Number(headers["grpc-status"] ?? 0);
  }

  for (const type of ["application/grpc", "application/grpc+proto"]) {
    test(`a caller has as many unread replies as its budget has room for (${type})`, async () => {
      await using server = await start({ run: list });
      await using session = openWithoutWindow(server.port);
      const codes: number[] = [];
      for (let i = 0; i < 6; i++) codes.push(await codeOf(session, type));
      assert.deepEqual(codes, [0, 0, 0, 0, ConnectCode.ResourceExhausted, ConnectCode.ResourceExhausted].slice(0, 6));
    });
  }

  test("a caller has as many unread replies of the Connect protocol as its budget has room for", async () => {
    await using server = await start({ run: list });
    await using session = openWithoutWindow(server.port);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const stream = session.request({ ":method": "POST", ":path": LIST, "content-type": "application/json", authorization: "alice" });
      stream.on("error", () => {}).end("{}");
      const [headers] = await once(stream, "response");
      statuses.push(Number(headers[":status"]));
    }
    assert.deepEqual(statuses, [200, 200, 200, 200, 429]);
  });
});

describe("readers who do not read", () => {
  const idle = { limits: { readIdleMs: 400 } };

  test("lose their connection of HTTP/1.1, and the bytes that waited are free", async (t) => {
    // The server checks for idle readers only when the test says so, however long the second request takes.
    t.mock.timers.enable({ apis: ["setInterval"] });
    await using server = await start(idle);
    const unread = await askAndStop(server.port, "/large", as("alice"));
    assert.equal((await askAndStop(server.port, "/x", as("alice"))).status, 429);
    await until(async () => {
      t.mock.timers.tick(idle.limits.readIdleMs);
      return (await fetch(`http://127.0.0.1:${server.port}/x`, { headers: as("alice") })).status === 200;
    });
    let bytes = 0;
    unread.socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    unread.socket.resume();
    await closed(unread.socket);
    assert.ok(bytes < 32 * MIB);
  });

  test("lose the stream of HTTP/2 that they do not read, and keep the connection", async () => {
    await using server = await start(idle);
    await using session = openWithoutWindow(server.port);
    const stream = session.request({ ":path": "/x" }).on("error", () => {});
    await closed(stream);
    assert.equal(stream.rstCode, 8, "CANCEL");
    session.settings({ initialWindowSize: MIB });
    assert.equal((await requestHttp2(session, { ":path": "/x" })).body.length, MIB);
  });

  test("lose the stream of a gRPC reply that they do not read", async () => {
    await using server = await start({ ...idle, run: list });
    await using session = openWithoutWindow(server.port);
    const stream = session.request({ ":method": "POST", ":path": LIST, "content-type": "application/grpc", te: "trailers" });
    stream.on("error", () => {}).end(REQUEST);
    await closed(stream);
    assert.equal(stream.rstCode, 8, "CANCEL");
  });

  test("lose a stream that they do not read even if they read others of the connection", async () => {
    await using server = await start(idle);
    await using session = openHttp2(server.port);
    const unread = session.request({ ":path": "/x" }).on("error", () => {});
    let isClosed = false;
    unread.once("close", () => {
      isClosed = true;
    });
    await until(async () => {
      await requestHttp2(session, { ":path": "/healthz" });
      return isClosed;
    });
    assert.equal(unread.rstCode, 8, "CANCEL");
  });

  test("lose a connection of HTTP/2 from which they take nothing", async () => {
    await using server = await start(idle);
    const { session, socket, stop } = await openStoppable(server.port);
    session.settings({ initialWindowSize: 64 * MIB });
    assert.equal((await requestHttp2(session, { ":path": "/healthz" })).headers[":status"], 200);
    // Now the flow control of HTTP/2 lets everything through, so the answer fills the connection.
    session.setLocalWindowSize(64 * MIB);
    assert.equal((await requestHttp2(session, { ":path": "/healthz" })).headers[":status"], 200);
    stop();
    session.request({ ":path": "/large", ...as("alice") }).on("error", () => {});
    // The connection is reset: the next bytes of the client find nobody.
    await until(() => {
      if (!socket.destroyed) socket.write(Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]));
      return socket.destroyed;
    });
    session.destroy();
  });

  test("keep a connection that they read slowly, for longer than the idle limit", async () => {
    await using server = await start(idle);
    await using session = openHttp2(server.port);
    const stream = session.request({ ":path": "/x" });
    let bytes = 0;
    let reads = 0;
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (++reads % 4 !== 0) return;
      stream.pause();
      setTimeout(() => stream.resume(), 50);
    });
    await once(stream, "end");
    assert.equal(bytes, MIB);
    assert.ok(reads > 40, `${reads} reads`);
  });
});
