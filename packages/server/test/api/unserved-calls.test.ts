/** Tests that the log names the operations that clients call and the server does not serve. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Apko } from "@holt/api/gen/platform/registry/v1/apko_pb.ts";
import pino from "pino";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { startServer } from "../harness/harness.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { GrpcClient } from "../harness/raw-clients.ts";

type Line = Record<string, unknown>;

/** A log that keeps its lines. */
function keptLog() {
  const lines: Line[] = [];
  const log = pino({ level: "warn", base: null }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  return { log, lines };
}

const UID = `${"a".repeat(40)}/${"b".repeat(16)}`;

test("each operation that the server does not serve has one log line a minute, over REST and gRPC", async () => {
  const { log, lines } = keptLog();
  const clock = createManualClock(new Date());
  await using server = await startServer({ log, clock });
  const operations = () => lines.splice(0).map(({ operation, protocol }) => [protocol, operation]);
  const method = Apko.method.resolveConfig;
  const callAll = async () => {
    for (const client of server.clients) assert.equal(codeOf(await client.call(method, {}, server.token)), Code.UNIMPLEMENTED);
    for (const uid of [UID, UID.slice(0, 40)])
      assert.equal((await server.http("GET", `/iam/v1/sandcastles/${uid}?token=secret`)).status, 404);
    assert.equal((await server.http("PUT", `/iam/v2/groups/${UID}`)).status, 405);
    assert.equal((await server.http("GET", "/wp-login.php")).status, 404);
    using client = new GrpcClient(server.port);
    await assert.rejects(client.call(method, {}, { service: "platform.sand.v1.Castles" }), { code: Code.UNIMPLEMENTED });
  };
  await callAll();
  const expected = [
    ["rest", "platform.registry.v1.Apko/ResolveConfig"],
    ["rest", "GET /iam/v1/sandcastles/{uid}"],
    ["rest", "PUT /iam/v2/groups/{uid}"],
    ["grpc", "platform.sand.v1.Castles/ResolveConfig"],
  ];
  assert.deepEqual(operations(), expected);
  await callAll();
  assert.deepEqual(operations(), []);
  clock.advance(60_000);
  await callAll();
  assert.deepEqual(operations(), expected);
});

test("the log line of an unknown method has the address that a trusted proxy forwarded, over REST and gRPC", async () => {
  const { log, lines } = keptLog();
  await using server = await startServer({ log, env: { HOLT_TRUSTED_PROXIES: "127.0.0.1" } });
  const forwarded = { "x-forwarded-for": "192.0.2.7" };
  await server.http("GET", "/iam/v1/sandcastles", undefined, forwarded);
  await server.http("POST", "/platform.sand.v1.Castles/Build", "", { ...forwarded, "content-type": "application/grpc" });
  assert.deepEqual(
    lines.map(({ protocol, remote }) => [protocol, remote]),
    [
      ["rest", "192.0.2.7"],
      ["grpc", "192.0.2.7"],
    ],
  );
});

test("the number of log lines about operations that are not served is bounded", async () => {
  const { log, lines } = keptLog();
  const clock = createManualClock(new Date());
  await using server = await startServer({ log, clock });
  for (let i = 0; i < 60; i++) await server.http("GET", `/iam/v1/sandcastle${i}${"x".repeat(500)}`, undefined, {});
  assert.equal(lines.length, 50);
  assert.ok(lines.every(({ operation }) => (operation as string).length <= 256));
  clock.advance(60_000);
  await server.http("GET", "/iam/v1/sandcastles", undefined, { "user-agent": "sand/1", cgclientid: "c" });
  const [summary, line] = lines.slice(50);
  assert.equal(summary?.calls, 10);
  assert.deepEqual([line?.userAgent, line?.client, line?.remote, line?.protocol], ["sand/1", "c", "127.0.0.1", "rest"]);
});
