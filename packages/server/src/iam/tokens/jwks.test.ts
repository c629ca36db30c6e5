import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { startIssuer } from "../../../test/harness/oidc-issuer.ts";
import { until } from "../../../test/harness/wait.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { createLog } from "../../lib/log.ts";
import { createOutboundClient } from "../../outbound/client.ts";
import { createJwksCache, type JwksOptions } from "./jwks.ts";
import { parseJwt } from "./jwt.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import { createWaitLimit } from "./wait-limit.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function setUp({ isOperators = false, ...options }: Partial<JwksOptions> & { readonly isOperators?: boolean } = {}) {
  const clock = createManualClock();
  const client = createOutboundClient({ allowCidrs: ["127.0.0.0/8"] });
  const issuer = await startIssuer({ now: clock.now });
  const waits = createWaitLimit({ maxConcurrentCalls: 2048, trusted: new Set() });
  const trusted = new Set(isOperators ? [issuer.issuer] : []);
  const cache = createJwksCache({ client, clock, log: createLog("silent"), waits, trusted, ...options });
  const verify = async (token: string) => verifyWithIssuer(cache, parseJwt(token), clock.now());
  const signAndVerify = async () => verify(await issuer.sign({ sub: "alice", exp: clock.now().getTime() / 1000 + 3600 }));
  return {
    clock,
    issuer,
    cache,
    verify,
    signAndVerify,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

function hasCode(code: Code): (error: unknown) => boolean {
  return (error) => error instanceof HoltError && error.code === code;
}

test("fifty concurrent logins cost one discovery and one fetch of keys, and later logins cost nothing", async () => {
  await using world = await setUp();
  await Promise.all(Array.from({ length: 50 }, world.signAndVerify));
  assert.equal(world.issuer.requests, 2);
  world.clock.advance(9 * MINUTE);
  await world.signAndVerify();
  assert.equal(world.issuer.requests, 2);
});

test("keys older than ten minutes are refreshed in the background", async () => {
  await using world = await setUp();
  await world.signAndVerify();
  world.clock.advance(11 * MINUTE);
  await Promise.all(Array.from({ length: 20 }, world.signAndVerify));
  await until(() => world.issuer.requests >= 4);
  assert.equal(world.issuer.requests, 4);
});

test("an issuer's key rotation is noticed with the first new token, and unknown key IDs cost one fetch in 30 seconds", async () => {
  await using world = await setUp();
  await world.signAndVerify();
  world.issuer.rotate();
  world.clock.advance(31_000);
  await world.signAndVerify();
  assert.equal(world.issuer.requests, 4);
  for (let i = 0; i < 20; i++)
    await assert.rejects(
      world.verify(await world.issuer.sign({ sub: "a" }, { header: { kid: `made-up-${i}` } })),
      hasCode(Code.UNAUTHENTICATED),
    );
  assert.equal(world.issuer.requests, 4);
  world.clock.advance(31_000);
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) =>
      assert.rejects(world.verify(await world.issuer.sign({ sub: "a" }, { header: { kid: `made-up-${i}` } }))),
    ),
  );
  assert.equal(world.issuer.requests, 6);
});

test("a key that its issuer withdrew is rejected after an hour, even where tokens are rare", async () => {
  await using world = await setUp();
  const withdrawn = await world.issuer.sign({ sub: "alice", exp: world.clock.now().getTime() / 1000 + 86_400 });
  await world.verify(withdrawn);
  world.issuer.rotate();
  world.clock.advance(2 * HOUR);
  await assert.rejects(world.verify(withdrawn), hasCode(Code.UNAUTHENTICATED));
});

test("cached keys stay valid for a day while their issuer is down, and no longer", async () => {
  await using world = await setUp();
  await world.signAndVerify();
  world.issuer.setDown(true);
  world.clock.advance(23 * HOUR);
  await world.signAndVerify();
  world.clock.advance(2 * HOUR);
  await assert.rejects(world.signAndVerify(), hasCode(Code.UNAVAILABLE));
  world.issuer.setDown(false);
  world.clock.advance(31_000);
  await world.signAndVerify();
});

test("an issuer that is down is contacted again only after 30 seconds", async () => {
  await using world = await setUp();
  world.issuer.setDown(true);
  for (let i = 0; i < 10; i++) await assert.rejects(world.signAndVerify(), hasCode(Code.UNAVAILABLE));
  assert.equal(world.issuer.requests, 1);
  world.issuer.setDown(false);
  await assert.rejects(world.signAndVerify(), hasCode(Code.UNAVAILABLE));
  world.clock.advance(31_000);
  await world.signAndVerify();
});

test("a discovery document that names another issuer is rejected", async () => {
  await using world = await setUp();
  for (const issuer of ["https://good.test", `${world.issuer.issuer}/`, undefined, [world.issuer.issuer]]) {
    world.issuer.setDiscovery({ issuer });
    world.clock.advance(31_000);
    await assert.rejects(world.signAndVerify(), hasCode(Code.UNAVAILABLE));
  }
});

test("a malformed issuer is rejected without a request", async () => {
  await using world = await setUp();
  const { issuer } = world.issuer;
  for (const iss of [
    "nonsense",
    "ftp://127.0.0.1",
    "https://user:pass@127.0.0.1",
    `${issuer}/admin/delete?id=7&x=`,
    `${issuer}/admin/restart#`,
    `${issuer}?`,
    `${issuer}\\a`,
    `${issuer}/a b`,
    `${issuer}/${"a".repeat(512)}`,
  ]) {
    await assert.rejects(async () => world.verify(await world.issuer.sign({ iss, sub: "a" })), hasCode(Code.UNAUTHENTICATED), iss);
  }
  assert.equal(world.issuer.requests, 0);
});

test("callers get the same error whatever an unusable issuer answers and wherever it is", async () => {
  await using world = await setUp();
  const texts = new Set<string>();
  const failWith = async (token: string): Promise<void> => {
    const error = await world.verify(token).then(
      () => assert.fail(),
      (thrown: unknown) => thrown,
    );
    assert.ok(hasCode(Code.UNAVAILABLE)(error), String(error));
    texts.add((error as HoltError).message);
  };
  for (const iss of ["http://10.0.0.1", "https://169.254.169.254", "https://[::1]", "http://127.0.0.1:1", `${world.issuer.issuer}/missing`])
    await failWith(await world.issuer.sign({ iss, sub: "a" }));
  for (const discovery of [{ issuer: "https://good.test" }, { jwks_uri: 7 }, { jwks_uri: "http://127.0.0.1:1/keys" }]) {
    world.clock.advance(31_000);
    world.issuer.setDiscovery(discovery);
    await failWith(await world.issuer.sign({ sub: "a", exp: world.clock.now().getTime() / 1000 + 60 }));
  }
  assert.equal(texts.size, 1);
});

test("keys on another origin are fetched only by https, even where plain http is allowed", async () => {
  await using world = await setUp();
  await using other = await startIssuer({ now: world.clock.now });
  world.issuer.setDiscovery({ jwks_uri: `${other.issuer}/keys?all=1` });
  await assert.rejects(world.signAndVerify(), hasCode(Code.UNAVAILABLE));
  assert.equal(other.requests, 0);
});

test("an issuer that never answers blocks few calls for five seconds, and all others fail at once", async (t) => {
  let isReached = false;
  const tarpit = createServer(() => {
    isReached = true;
  }).listen(0, "127.0.0.1");
  await once(tarpit, "listening");
  const iss = `http://127.0.0.1:${(tarpit.address() as AddressInfo).port}`;
  const timeouts = t.mock.method(AbortSignal, "timeout").mock;
  await using world = await setUp({ waits: createWaitLimit({ maxConcurrentCalls: 64, trusted: new Set() }) });
  const token = await world.issuer.sign({ iss, sub: "a" });
  const answered: number[] = [];
  const calls = Array.from({ length: 64 }, (_, i) =>
    assert.rejects(world.verify(token), hasCode(Code.UNAVAILABLE)).then(() => answered.push(i)),
  );
  // No answer needs more than the promises that are under way.
  await nextTurn();
  assert.equal(answered.length, 62);
  await world.signAndVerify();
  await Promise.all(calls);
  assert.ok(isReached);
  assert.deepEqual(timeouts.calls[0]?.arguments, [5000]);
  tarpit.closeAllConnections();
  tarpit.close();
});

test("a token that cannot be valid causes no request to its issuer", async () => {
  await using world = await setUp();
  const seconds = world.clock.now().getTime() / 1000;
  for (const claims of [{ exp: seconds - 100 }, { exp: undefined }, { nbf: seconds + 100 }])
    await assert.rejects(world.verify(await world.issuer.sign(claims)), hasCode(Code.UNAUTHENTICATED));
  const [header, ...rest] = (await world.issuer.sign({})).split(".");
  const hs256 = Buffer.from(
    Buffer.from(header ?? "", "base64url")
      .toString()
      .replace("RS256", "HS256"),
  ).toString("base64url");
  await assert.rejects(world.verify([hs256, ...rest].join(".")), hasCode(Code.UNAUTHENTICATED));
  assert.equal(world.issuer.requests, 0);
});

test("keys that the operator pinned are used without a request", async () => {
  const elsewhere = await startIssuer();
  const pinned = new Map([["https://offline.test", await elsewhere.jwks()]]);
  await using world = await setUp({ pinned });
  const token = await elsewhere.sign({
    iss: "https://offline.test",
    sub: "a",
    iat: 1_800_000_000,
    exp: world.clock.now().getTime() / 1000 + 60,
  });
  await world.verify(token);
  assert.equal(elsewhere.requests + world.issuer.requests, 0);
  await elsewhere[Symbol.asyncDispose]();
});

test("issuers that callers name do not evict the keys of the operator's issuers", async () => {
  await using world = await setUp({ isOperators: true });
  await world.signAndVerify();
  for (let count = 0; count < 300; count++)
    await assert.rejects(
      world.cache.getKeys(`https://127.0.0.1:1/issuer-${count}`, () => true),
      hasCode(Code.UNAVAILABLE),
    );
  world.issuer.setDown(true);
  await world.signAndVerify();
  assert.equal(world.issuer.requests, 2);
});
