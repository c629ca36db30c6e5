/** Limits of what anonymous callers may start, from several addresses of the loopback network. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { createManualClock } from "../harness/manual-clock.ts";

interface Begun {
  readonly user_code: string;
}

function statusOf(url: string, localAddress: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { localAddress, agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    })
      .once("error", reject)
      .end();
  });
}

test("wrong device codes of one address use up its own share only", async () => {
  await using server = await startServer({ clock: createManualClock(new Date()) });
  const guess = (from: string) => statusOf(`${server.baseUrl}/oauth/device?user_code=BCDF-GHJK`, from);
  for (let count = 0; count < 37; count++) assert.equal(await guess("127.0.0.1"), 404);
  assert.equal(await guess("127.0.0.1"), 429);
  assert.equal(await guess("127.0.0.2"), 404);
  const body = new URLSearchParams({ client_id: "tv" });
  const begun = (await (await fetch(`${server.baseUrl}/oauth/device_authorization`, { method: "POST", body })).json()) as Begun;
  const right = (from: string) => statusOf(`${server.baseUrl}/oauth/device?user_code=${begun.user_code}`, from);
  // A right code counts as little as it passes beyond the limit.
  const atOther = new Set<number | undefined>();
  for (let count = 0; count < 40; count++) atOther.add(await right("127.0.0.2"));
  assert.deepEqual([await right("127.0.0.1"), atOther.has(429), atOther.has(404)], [429, false, false]);
});
