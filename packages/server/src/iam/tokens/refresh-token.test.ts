import assert from "node:assert/strict";
import { test } from "node:test";
import { API, createFixture, type FixtureOptions, ISSUER } from "../../../test/harness/exchange-fixture.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { startIssuer } from "../../../test/harness/oidc-issuer.ts";
import { giveTime, until } from "../../../test/harness/wait.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { parseNarrowing } from "./narrowing.ts";

const DAY = 24 * 3_600_000;
const BOTH = parseNarrowing([], ["groups.list", "groups.create"]).capabilities ?? 0n;

/** A registered user who has just logged in. */
async function setUp(options: FixtureOptions = {}, request: { cap?: string[] } = {}) {
  const issuer = await startIssuer({ now: () => world.clock.now() });
  const world = await createFixture({ clientIds: ["login"], userIssuers: [issuer.issuer], ...options });
  const signIn = async () => issuer.sign({ sub: "alice", aud: "login", email: "alice@acme.test", email_verified: true });
  const prepared = await world.registrations.prepareRegister(
    { bearer: await signIn(), code: "", identityId: "" },
    world.clock.now(),
    world.store.reader,
  );
  await world.store.transaction((db) => world.registrations.recordRegister(db, prepared));
  const group = await world.addGroup();
  await world.bind(prepared.identityUid, group, BOTH);
  const { token, refreshToken } = await world.exchangeToken(await signIn(), request);
  assert.ok(refreshToken);
  return {
    world,
    issuer,
    signIn,
    group,
    uid: prepared.identityUid,
    token: token.token,
    refresh: refreshToken.token,
    expiry: refreshToken.expiry,
    async [Symbol.asyncDispose]() {
      await issuer[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

const isUnauthenticated = (error: unknown): boolean => error instanceof HoltError && error.code === Code.UNAUTHENTICATED;

test("a refresh token is base64 of JSON that expires in 30 days, and only its hash is stored", async () => {
  await using s = await setUp();
  assert.match(s.refresh, /^[A-Za-z0-9+/]+=*$/);
  const content = JSON.parse(Buffer.from(s.refresh, "base64").toString()) as Record<string, unknown>;
  assert.equal(content.exp, (s.world.clock.now().getTime() + 30 * DAY) / 1000);
  assert.equal(content.sub, s.uid);
  assert.equal(s.expiry.getTime(), s.world.clock.now().getTime() + 30 * DAY);
  const rows = JSON.stringify(await s.world.store.reader.selectFrom("refresh_token").selectAll().orderBy("token_hash").execute());
  assert.ok(!rows.includes(s.refresh) && !rows.includes(String(content.sig)));
});

test("each use of a refresh token returns a new pair with the profile of the login", async () => {
  await using s = await setUp();
  s.world.clock.advance(DAY);
  const first = await s.world.refreshToken(s.refresh, { aud: [ISSUER] });
  const principal = await s.world.accessTokens.verify(first.token.token);
  assert.deepEqual(
    [principal.uid, principal.audience, principal.email, principal.emailVerified],
    [s.uid, [ISSUER], "alice@acme.test", true],
  );
  assert.deepEqual(principal.actor, { iss: s.issuer.issuer, sub: "alice", aud: "login", email: "alice@acme.test" });
  const second = await s.world.refreshToken(first.refreshToken?.token ?? "", {});
  assert.deepEqual((await s.world.accessTokens.verify(second.token.token)).audience, [API]);
  assert.match(
    (await s.world.store.reader.selectFrom("identity").select("body").where("uid", "=", s.uid).executeTakeFirstOrThrow()).body,
    new RegExp(`"lastSeenTime":"${s.world.clock.now().toISOString()}"`),
  );
});

test("reusing a spent refresh token revokes its family", async () => {
  await using s = await setUp();
  const { refreshToken } = await s.world.refreshToken(s.refresh);
  await assert.rejects(s.world.refreshToken(s.refresh), isUnauthenticated);
  await assert.rejects(s.world.refreshToken(refreshToken?.token ?? ""), isUnauthenticated);
  const { refreshToken: anew } = await s.world.exchangeToken(await s.signIn());
  await s.world.refreshToken(anew?.token ?? "");
});

test("if a refresh token is used twice at the same time, one use succeeds and the family is revoked", async () => {
  for (const url of ["", await createMigratedDatabase()]) {
    await using s = await setUp({ url });
    const prepare = () =>
      s.world.exchange.prepareRefresh({ bearer: s.refresh, aud: [], scopes: [], cap: [] }, s.world.clock.now(), s.world.store.reader);
    const prepared = await Promise.all([prepare(), prepare()]);
    const results = await Promise.allSettled(
      prepared.map((each) => s.world.store.transaction((db) => s.world.exchange.recordExchange(db, each))),
    );
    assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const served = results.find((result) => result.status === "fulfilled");
    await until(
      async () => (await s.world.store.reader.selectFrom("refresh_token").select("family").orderBy("token_hash").execute()).length === 0,
    );
    await assert.rejects(s.world.refreshToken(served?.value.refreshToken?.token ?? ""), isUnauthenticated);
  }
});

test("a refresh token rotated while its family is revoked is revoked with it", async () => {
  for (const url of ["", await createMigratedDatabase()]) {
    await using s = await setUp({ url });
    const { world } = s;
    const second = (await world.refreshToken(s.refresh)).refreshToken?.token ?? "";
    const request = { bearer: second, aud: [], scopes: [], cap: [] };
    const prepared = await world.exchange.prepareRefresh(request, world.clock.now(), world.store.reader);
    let replay: Promise<unknown> | undefined;
    const { refreshToken } = await world.store.transaction(async (db) => {
      const made = await world.exchange.recordExchange(db, prepared);
      replay = assert.rejects(world.refreshToken(s.refresh), isUnauthenticated);
      await giveTime(200);
      return made;
    });
    await replay;
    assert.deepEqual(await world.store.reader.selectFrom("refresh_token").select("spent_time").orderBy("token_hash").execute(), []);
    await assert.rejects(world.refreshToken(refreshToken?.token ?? ""), isUnauthenticated);
  }
});

test("the limits of a login apply to every token refreshed from it", async () => {
  await using s = await setUp({}, { cap: ["groups.list"] });
  const { token } = await s.world.refreshToken(s.refresh, { cap: ["groups.list", "groups.create"] });
  assert.equal((await s.world.accessTokens.verify(token.token)).capabilities, parseNarrowing([], ["groups.list"]).capabilities);
});

test("a refresh token expires after 30 days, and the next login deletes expired rows", async () => {
  await using s = await setUp();
  s.world.clock.advance(30 * DAY);
  await assert.rejects(s.world.refreshToken(s.refresh), isUnauthenticated);
  await s.world.exchangeToken(await s.signIn());
  assert.equal((await s.world.store.reader.selectFrom("refresh_token").select("family").orderBy("token_hash").execute()).length, 1);
});

test("a refresh token stops working when its identity is deleted", async () => {
  await using s = await setUp();
  await s.world.removeIdentity(s.uid);
  await assert.rejects(s.world.refreshToken(s.refresh), isUnauthenticated);
});

test("no other token is accepted as a refresh token, and a refresh token is accepted as no other token", async () => {
  await using s = await setUp();
  for (const bearer of ["", s.token, "e30=", "e30", Buffer.from("[]").toString("base64"), `${s.refresh}\n`, s.refresh.slice(0, -8)])
    await assert.rejects(s.world.refreshToken(bearer), isUnauthenticated, bearer);
  await assert.rejects(s.world.exchangeToken(s.refresh), isUnauthenticated);
  await assert.rejects(s.world.accessTokens.verify(s.refresh), isUnauthenticated);
  await s.world.refreshToken(s.refresh);
});
