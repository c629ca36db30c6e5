/** Sends requests that no client library sends. One must cost the main thread little CPU time and the process little memory. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openSocket, untilClosed } from "../harness/raw-clients.ts";
import { isCheap } from "../harness/robustness/cost-checks.ts";
import { collectGarbage } from "../harness/robustness/garbage.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const MAX_MEMORY_MB = 64;
/** Other work of the server and of the machine disturbs a measurement, but not each time. */
const ATTEMPTS = 4;

let world: World;
let client: MeteredClient;
before(async () => {
  world = await startWorld();
  client = startMeteredClient(world.baseUrl, world.token);
});
after(async () => {
  await client[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

test("a body of HTTP/1.1 in many chunks of one byte takes little memory", async () => {
  const head = [
    `POST /registry/v2/repos/${world.orgUid} HTTP/1.1`,
    ...["host: h", "connection: close", "transfer-encoding: chunked", "content-type: application/json"],
    `authorization: Bearer ${world.token}`,
  ];
  const bytes = Buffer.from(`${head.join("\r\n")}\r\n\r\n${"1\r\nA\r\n".repeat(2_000_000)}`);
  const before = usedMb();
  const socket = openSocket(world.port);
  socket.write(bytes);
  // The kernel holds the last of them.
  await until(() => socket.writableLength === 0);
  const grownMb = usedMb() - before;
  assert.ok(grownMb <= MAX_MEMORY_MB, `${grownMb.toFixed()} MB`);
  socket.write("0\r\n\r\n");
  assert.match(await untilClosed(socket), /^HTTP\/1.1 400 .*is not valid JSON/s);
});

function usedMb(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

test("a request target that is a whole URL with a long host costs the main thread little", async () => {
  const bytes = Buffer.from(`GET http://${"a".repeat(30_000)}/# HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`);
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ATTEMPTS && !isCheap(best); i++) {
    const { status, cpuMs } = await client.sendBytes(bytes);
    assert.equal(status, 414);
    best = Math.min(best, cpuMs);
  }
  assert.ok(isCheap(best), `${best.toFixed()} ms of CPU time`);
});
