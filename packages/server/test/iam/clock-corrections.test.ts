/** A machine may start with a clock that is hours ahead, which is then corrected. Nothing may wait until that time comes again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { basic } from "../harness/registry/registry-client.ts";

const AHEAD_MS = 2 * 3_600_000;

test("keys of an issuer are fetched again after the clock was corrected, whether the fetch before had failed or not", async () => {
  const clock = createManualClock(new Date());
  await using issuer = await startIssuer({ now: clock.now });
  const env = { HOLT_USER_ISSUERS: issuer.issuer, HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" };
  await using server = await startServer({ clock, env });
  const register = async () => {
    const authorization = `Bearer ${await issuer.sign({ sub: "user", aud: server.baseUrl })}`;
    const headers = { authorization, "content-type": "application/json" };
    return (await fetch(`${server.baseUrl}/auth/v1/register`, { method: "POST", headers, body: "{}" })).status;
  };
  clock.advance(AHEAD_MS);
  issuer.setDown(true);
  assert.equal(await register(), 503);
  clock.advance(-AHEAD_MS);
  issuer.setDown(false);
  assert.equal(await register(), 200);
  clock.advance(AHEAD_MS);
  assert.equal(await register(), 200);
  clock.advance(-AHEAD_MS);
  issuer.rotate();
  assert.equal(await register(), 200);
});

test("the limit of started sign-ins ends, also if it began before the clock was corrected", async () => {
  const clock = createManualClock(new Date());
  await using server = await startServer({ clock });
  const start = async () => {
    const body = new URLSearchParams({ client_id: "program" });
    return (await fetch(`${server.baseUrl}/oauth/device_authorization`, { method: "POST", body })).status;
  };
  clock.advance(AHEAD_MS);
  assert.equal(await start(), 200);
  clock.advance(-AHEAD_MS);
  for (let status = 200; status === 200; ) status = Math.max(...(await Promise.all(Array.from({ length: 50 }, start))));
  clock.advance(AHEAD_MS / 2);
  assert.equal(await start(), 200);
});

test("the limit of wrong passwords ends a minute later, also if it began before the clock was corrected", async () => {
  const clock = createManualClock(new Date());
  await using server = await startServer({ clock });
  const attempt = async () => {
    const headers = { authorization: basic("pull-0123456789abcdef", `holt_pt_${"0".repeat(49)}`) };
    return (await fetch(`${server.baseUrl}/token`, { headers })).status;
  };
  clock.advance(AHEAD_MS);
  assert.equal(await attempt(), 401);
  clock.advance(-AHEAD_MS);
  let last = 0;
  for (let i = 0; i < 21; i++) last = await attempt();
  assert.equal(last, 429);
  clock.advance(61_000);
  assert.equal(await attempt(), 401);
});
