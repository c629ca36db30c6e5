/** A stopping holtd finishes running calls, accepts no new ones and does not wait for ever. */
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { CreateGroupRequestSchema, GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { send as sendWith } from "../harness/clients.ts";
import { get, printedToken, type RunningServer, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { openCall } from "../harness/open-call.ts";
import { until, within } from "../harness/wait.ts";

interface Fixture extends AsyncDisposable {
  readonly server: RunningServer;
  readonly token: string;
  readonly orgUid: string;
}

async function startServer(settings: Settings = {}): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const server = stack.use(await startHoltd({ HOLT_DATA_DIR: folder.path, ...settings }));
  const token = await printedToken({ HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${server.port}` });
  const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
  const orgUid = (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "";
  const owned = stack.move();
  return { server, token, orgUid, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function signalled({ server }: Fixture): Promise<void> {
  server.kill("SIGTERM");
  return until(() => server.stderr().includes("stopping"));
}

/** The message that a server logs when it stops waiting. */
const CUT_OFF = /stopping: closing the connections of calls that still run/;

/** Time of the log line with the message, in milliseconds. */
function timeOfLine(log: string, message: RegExp): number {
  const line = log.split("\n").find((text) => message.test(text)) ?? "{}";
  return Number(new Date((JSON.parse(line) as { time: string | number }).time));
}

describe("a stop of holtd", { concurrency: 3 }, () => {
  test("a stopping server answers the running call, accepts no other and exits with code 0", async () => {
    await using fixture = await startServer();
    const { server } = fixture;
    const { answer, finish } = await openCall({ ...fixture, port: fixture.server.port });
    await signalled(fixture);
    await assert.rejects(
      new Promise((_resolve, reject) =>
        connect(server.port, "127.0.0.1")
          .once("error", reject)
          .once("close", () => _resolve(undefined)),
      ),
      { code: "ECONNREFUSED" },
    );
    finish();
    const text = await within(answer, () => "no answer");
    assert.match(text, /\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    assert.match(text, /connection: close/i);
    assert.match(text, /"name":"made-while-stopping"/);
    const { code, stderr } = await within(server.ended, () => "did not end");
    assert.equal(code, 0);
    assert.match(stderr, /"msg":"stopped"\}\n$/);
  });

  test("a server serves during HOLT_STOP_DELAY, is not ready and closes connections after their answers", async () => {
    await using fixture = await startServer({ HOLT_STOP_DELAY: "10m" });
    const { server, token } = fixture;
    const agent = new Agent({ keepAlive: true });
    const send = (path: string) => sendWith(agent, server.baseUrl, "GET", path, { authorization: `Bearer ${token}` });
    assert.equal((await send("/readyz")).status, 200);
    server.kill("SIGTERM");
    await until(() => server.stderr().includes("stopping after the delay"));
    for (const [path, status] of [
      ["/readyz", 503],
      ["/healthz", 200],
      ["/iam/v2/groups", 200],
    ] as const) {
      const answer = await send(path);
      assert.deepEqual([path, answer.status, answer.headers.connection], [path, status, "close"]);
    }
    agent.destroy();
    server.kill("SIGTERM");
    assert.equal((await within(server.ended, () => "did not end")).code, 1);
  });

  test("a stopping server answers the running gRPC call", async () => {
    await using fixture = await startServer();
    const { server, token, orgUid } = fixture;
    const session = connectHttp2(server.baseUrl).on("error", () => {});
    const stream = session.request({
      ":method": "POST",
      ":path": "/platform.iam.v2.GroupsService/CreateGroup",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
    });
    const message = toBinary(CreateGroupRequestSchema, create(CreateGroupRequestSchema, { parent: orgUid, group: { name: "late" } }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const frame = Buffer.concat([prefix, message]);
    stream.write(frame.subarray(0, 10));
    // Later requests on the connection are answered after the first body is read.
    const later = session.request({ ":path": "/healthz" });
    await new Promise((resolve) => later.resume().once("close", resolve));
    await signalled(fixture);
    stream.end(frame.subarray(10));
    const chunks: Buffer[] = [];
    let status: unknown;
    stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("trailers", (trailers) => (status = trailers["grpc-status"]));
    await within(new Promise((resolve) => stream.once("close", resolve)), () => "no answer");
    assert.equal(status, "0");
    assert.equal(fromBinary(GroupSchema, Buffer.concat(chunks).subarray(5)).name, "late");
    assert.equal((await within(server.ended, () => "did not end")).code, 0);
  });

  test("a stopping server waits at most ten seconds for a call that does not end", async () => {
    await using fixture = await startServer();
    const { socket } = await openCall({ ...fixture, port: fixture.server.port });
    await signalled(fixture);
    const { code, stderr } = await within(fixture.server.ended, () => "did not end");
    assert.equal(code, 0);
    assert.match(stderr, CUT_OFF);
    const [stopping = 0, cutOff = 0] = [/stopping: waiting/, CUT_OFF].map((message) => timeOfLine(stderr, message));
    assert.ok(cutOff - stopping >= 8_900, `the call had ${cutOff - stopping} ms`);
    socket.destroy();
  });

  test("a server exits at once after the second signal", async () => {
    await using fixture = await startServer();
    const { socket } = await openCall({ ...fixture, port: fixture.server.port });
    await signalled(fixture);
    fixture.server.kill("SIGTERM");
    const { code, stderr } = await within(fixture.server.ended, () => "did not end");
    assert.equal(code, 1);
    assert.doesNotMatch(stderr, CUT_OFF);
    socket.destroy();
  });

  test("a stopping server without running calls exits at once despite idle connections", async () => {
    await using fixture = await startServer();
    const { server } = fixture;
    const silent = connect(server.port, "127.0.0.1").on("error", () => {});
    const idle = connectHttp2(server.baseUrl).on("error", () => {});
    await new Promise((resolve) => idle.ping(resolve));
    server.kill("SIGINT");
    const { code, stderr } = await within(server.ended, () => "did not end");
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, CUT_OFF);
    silent.destroy();
    idle.destroy();
  });
});
