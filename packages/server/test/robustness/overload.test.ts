/** The server refuses calls beyond its concurrency limit. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { startServer } from "../harness/harness.ts";
import { until } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

const LIMIT = 4;

test("a call beyond the concurrency limit is refused at once, and calls within it and after it are answered", async () => {
  await using server = await startServer({ env: { HOLT_MAX_CONCURRENT_CALLS: String(LIMIT) } });
  const create = (name: string) => server.http("POST", `/iam/v2/groups/${server.orgUid}`, JSON.stringify({ name }));
  const ping = () => server.http("GET", "/ping/v2/ping");
  for (let round = 0; round < 2; round++) {
    let creates: ReturnType<typeof create>[] = [];
    // No other transaction can write while this one is open, so the creates wait until it ends.
    await server.store.transaction(async () => {
      creates = Array.from({ length: LIMIT }, (_, i) => create(`folder-${round}-${i}`));
      await until(async () => (await ping()).status === 429);
      const refused = await ping();
      assert.equal(refused.status, 429);
      assert.equal(refused.headers["retry-after"], "1");
      const { code, message, details } = JSON.parse(refused.text) as { code: number; message: string; details: object[] };
      assert.equal(code, Code.RESOURCE_EXHAUSTED);
      assert.match(message, /^Resource exhausted: /);
      assert.ok(details.length > 0);
      const overGrpc = await server.grpc.call(PingService.method.ping, {}, undefined);
      assert.equal(overGrpc.ok ? undefined : overGrpc.error.code, Code.RESOURCE_EXHAUSTED);
      // Health checks matter most while the server is busy.
      assert.equal((await server.http("GET", "/readyz")).status, 200);
    });
    for (const answer of await Promise.all(creates)) assert.equal(answer.status, 200, answer.text);
    assert.equal((await ping()).status, 200);
  }
});

test("token exchanges that wait for a silent issuer leave slots for other calls", async () => {
  await using world = await startWorld({ env: { HOLT_MAX_CONCURRENT_CALLS: "16" } });
  const tarpit = createServer(() => {}).listen(0, "127.0.0.1");
  await once(tarpit, "listening");
  const issuer = `http://127.0.0.1:${(tarpit.address() as AddressInfo).port}`;
  const identity = { name: "stuck", claimMatch: { issuer, subject: "x" } };
  const { uid } = JSON.parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, identity)).text) as { uid: string };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const junk = `${part({ alg: "RS256" })}.${part({ iss: issuer, sub: "x", exp: world.clock.now().getTime() / 1000 + 600 })}.AAAA`;
  const exchanges = Array.from({ length: 16 }, () => world.raw("POST", `/sts/exchange?identity=${uid}`, undefined, junk));
  // The limit is exceeded for a moment. Then all calls are refused except those that may wait.
  await until(async () => (await world.raw("GET", "/iam/v2/groups")).status === 200);
  await world.user("somebody");
  const answers = await Promise.all(exchanges);
  for (const answer of answers) assert.ok(answer.status === 503 || answer.status === 429, answer.text);
  // An eighth of the slots may wait.
  const refusedAtOnce = answers.filter(
    ({ status, text }) => status === 429 || text.includes("too many calls wait for third-party servers"),
  );
  assert.ok(refusedAtOnce.length >= 14, `${refusedAtOnce.length} of 16 calls were refused at once`);
  tarpit.closeAllConnections();
  tarpit.close();
});
