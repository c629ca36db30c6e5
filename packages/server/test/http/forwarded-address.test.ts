/** Behind a trusted proxy, the address that the proxy forwards counts for limits and is recorded. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Run } from "../../src/api/call/run.ts";
import { startServer } from "../harness/harness.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { eventsAfter } from "../harness/outbox.ts";
import { openHttp2, requestHttp2 } from "../harness/raw-clients.ts";
import { answerKindly, startTransports } from "../harness/transport-server.ts";
import { startWorld } from "../harness/world.ts";

const PROXY = { HOLT_TRUSTED_PROXIES: "127.0.0.1" };

test("clients behind one trusted proxy have limits of their own", async () => {
  await using server = await startServer({ clock: createManualClock(new Date()), env: PROXY });
  const guess = async (from: string) =>
    (await server.http("GET", "/oauth/device?user_code=BCDF-GHJK", undefined, { "x-forwarded-for": from })).status;
  for (let count = 0; count < 37; count++) assert.equal(await guess(`198.51.100.${count}, 192.0.2.1`), 404);
  assert.equal(await guess("192.0.2.1"), 429);
  assert.equal(await guess("192.0.2.2"), 404);
  assert.equal(await guess("nonsense"), 404);
});

test("a client cannot escape its limit with a header of its own", async () => {
  await using server = await startServer({ clock: createManualClock(new Date()) });
  const statuses: number[] = [];
  for (let count = 0; count < 38; count++) {
    const headers = { "x-forwarded-for": `192.0.2.${count}` };
    statuses.push((await server.http("GET", "/oauth/device?user_code=BCDF-GHJK", undefined, headers)).status);
  }
  assert.deepEqual([statuses[0], statuses.at(-1)], [404, 429]);
});

test("calls of every protocol see the forwarded address", async () => {
  const seen: string[] = [];
  const run: Run = (operation, source, metadata) => {
    seen.push(metadata.remoteAddress);
    return answerKindly(operation, source, metadata);
  };
  await using server = await startTransports({ run, proxies: ["127.0.0.1/32"] });
  await using session = openHttp2(server.port);
  for (const type of ["application/grpc", "application/grpc-web+proto", "application/proto"]) {
    const path = "/platform.ping.v2.PingService/Ping";
    const headers = { ":method": "POST", ":path": path, "content-type": type, te: "trailers", "x-forwarded-for": "192.0.2.1" };
    await requestHttp2(session, headers, Buffer.alloc(type.startsWith("application/grpc") ? 5 : 0));
  }
  assert.deepEqual(seen, ["192.0.2.1", "192.0.2.1", "192.0.2.1"]);
});

test("events of the registry record the forwarded address", async () => {
  await using world = await startWorld({ env: PROXY });
  const headers = {
    authorization: `Bearer ${world.owner.token}`,
    "x-forwarded-for": "192.0.2.1",
    "content-type": "application/vnd.oci.image.index.v1+json",
  };
  const index = JSON.stringify({ schemaVersion: 2, mediaType: headers["content-type"], manifests: [] });
  const pushed = await world.http("PUT", "/v2/my-org/told/manifests/latest", index, headers);
  assert.equal(pushed.status, 201, pushed.text);
  const events = await eventsAfter(world, 0);
  const push = events.find(({ type }) => type.endsWith("registry.push.v1"));
  assert.match(push?.data ?? "", /"remote_address":"192\.0\.2\.1"/);
});
