/** One organization does not take all of the memory for requests, however many identities it has. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { openSocket } from "../harness/raw-clients.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const KIB = 1024;

/** Sends all of a request but its last byte. */
function sendSlowly({ port, orgUid }: World, token: string, bytes: number): Socket {
  const socket = openSocket(port);
  const headers = ["host: h", "content-type: application/json", `authorization: Bearer ${token}`, `content-length: ${bytes}`];
  socket.write(`POST /iam/v2/groups/${orgUid} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${" ".repeat(bytes - 1)}`);
  return socket;
}

test("identities of one organization leave memory for the requests of others", async (t) => {
  await using world = await startWorld({ limits: { heldBytes: 512 * KIB, heldBytesPerCaller: 128 * KIB } });
  const stranger = await world.user();
  const last = await world.robot(world.orgUid);
  const send = async ({ token }: { token: string }, bytes: number) =>
    (await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, `{"name":"${"x".repeat(bytes)}"}`, token)).status;
  for (let i = 0; i < 4; i++) {
    const socket = sendSlowly(world, (await world.robot(world.orgUid)).token, 128 * KIB);
    t.after(() => socket.destroy());
  }
  await until(async () => (await send(last, 100 * KIB)) === 429);
  assert.notEqual(await send(stranger, 100 * KIB), 429);
});
