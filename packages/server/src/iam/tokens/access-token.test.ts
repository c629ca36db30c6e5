import assert from "node:assert/strict";
import { test } from "node:test";
import { createLocalJWKSet, jwtVerify } from "jose";
import { API, createFixture, type Fixture, ISSUER } from "../../../test/harness/exchange-fixture.ts";
import { startIssuer } from "../../../test/harness/oidc-issuer.ts";
import { Access, NO_ACCESS } from "../../access/capabilities.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import type { TokenContent } from "./access-token.ts";
import { createAudienceList } from "./audience.ts";
import { decodeCapabilities } from "./capability-encoding.ts";
import { signJwt } from "./sign-jwt.ts";

const CONTENT: TokenContent = {
  uid: newUid(""),
  actor: { iss: "https://upstream.test", sub: "alice", aud: "client" },
  audience: [API],
  email: undefined,
  emailVerified: false,
  upstream: {},
  scopes: undefined,
  capabilities: undefined,
  access: NO_ACCESS,
  lifetimeSeconds: 3600,
};

async function mint(world: Fixture, content: Partial<TokenContent> = {}): Promise<string> {
  return (await world.accessTokens.mint({ ...CONTENT, ...content }, world.clock.now())).token;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

const isUnauthenticated = (error: unknown): boolean => error instanceof HoltError && error.code === Code.UNAUTHENTICATED;

test("an access token has the documented claims and verifies with the published keys", async () => {
  await using world = await createFixture();
  const group = newUid("");
  const token = await mint(world, {
    access: new Access(new Map([[group, 5n]])),
    email: "a@b.test",
    emailVerified: true,
    upstream: { name: "Alice" },
  });
  const seconds = world.clock.now().getTime() / 1000;
  const { cap, ...claims } = claimsOf(token);
  assert.deepEqual(claims, {
    iss: ISSUER,
    sub: CONTENT.uid,
    aud: API,
    act: CONTENT.actor,
    email: "a@b.test",
    email_verified: true,
    upstream: { name: "Alice" },
    iat: seconds,
    exp: seconds + 3600,
  });
  assert.equal(decodeCapabilities((cap as Record<string, string>)[group] ?? ""), 5n);
  const { protectedHeader } = await jwtVerify(token, createLocalJWKSet(await world.keys.jwks()), {
    issuer: ISSUER,
    audience: API,
    currentDate: world.clock.now(),
  });
  assert.equal(protectedHeader.alg, "RS256");
  assert.ok(protectedHeader.kid);
});

test("verifying an access token returns its content and limits", async () => {
  await using world = await createFixture();
  const scopes = [newUid("")];
  const principal = await world.accessTokens.verify(
    await mint(world, { audience: [API, ISSUER], scopes, capabilities: 1n << 130n, email: "a@b.test" }),
  );
  assert.deepEqual(principal, {
    uid: CONTENT.uid,
    actor: CONTENT.actor,
    issuer: ISSUER,
    audience: [API, ISSUER],
    issuedAt: principal.issuedAt,
    expiry: principal.issuedAt + 3600,
    email: "a@b.test",
    emailVerified: false,
    upstream: {},
    scopes,
    capabilities: 1n << 130n,
  });
  const none = await world.accessTokens.verify(await mint(world, { scopes: [], capabilities: 0n }));
  assert.deepEqual([none.scopes, none.capabilities], [[], 0n]);
  assert.deepEqual(Object.keys(claimsOf(await mint(world))).includes("narrow"), false);
});

test("an access token expires after at most an hour, to the second, even if it is cached", async () => {
  await using world = await createFixture();
  const token = await mint(world, { lifetimeSeconds: 100_000 });
  world.clock.advance(3_599_999);
  await world.accessTokens.verify(token);
  world.clock.advance(1);
  await assert.rejects(world.accessTokens.verify(token), isUnauthenticated);
  await assert.rejects(world.accessTokens.verify(token), isUnauthenticated);
});

test("an access token is accepted for each spelling of an accepted audience and for no other audience", async () => {
  await using world = await createFixture();
  for (const audience of [[API], ["api.holt.test"], [ISSUER], ["issuer.holt.test"], ["elsewhere", API]])
    await world.accessTokens.verify(await mint(world, { audience }));
  for (const audience of [["registry.holt.test"], ["https://elsewhere.test"], [], ["customer"]]) {
    const token = await mint(world, { audience });
    await assert.rejects(world.accessTokens.verify(token), isUnauthenticated);
    await assert.rejects(world.accessTokens.verify(token), isUnauthenticated);
  }
  await world.accessTokens.verify(await mint(world, { audience: ["registry.holt.test"] }), createAudienceList(["registry.holt.test"]));
});

test("other tokens signed with our keys and our claims signed by others are not access tokens", async () => {
  await using world = await createFixture();
  await using issuer = await startIssuer({ now: world.clock.now });
  const seconds = world.clock.now().getTime() / 1000;
  const times = { iat: seconds, exp: seconds + 60 };
  const good = { iss: ISSUER, sub: CONTENT.uid, aud: API, act: {}, ...times };
  await world.accessTokens.verify(await signJwt(world.keys, good));
  for (const claims of [
    { ...good, sub: `webhook:${CONTENT.uid}` },
    { ...good, sub: undefined },
    { ...good, act: undefined },
    { ...good, exp: undefined },
    { ...good, iat: undefined },
    { ...good, aud: undefined },
    { ...good, iss: `${ISSUER}/` },
    { ...good, iat: seconds + 120 },
    { ...good, narrow: [] },
    { ...good, narrow: { scopes: "all" } },
    { ...good, narrow: { cap: 7 } },
  ]) {
    await assert.rejects(world.accessTokens.verify(await signJwt(world.keys, claims)), isUnauthenticated, JSON.stringify(claims));
  }
  const { kid } = await world.keys.current();
  for (const header of [{}, { kid }, { kid: undefined }])
    await assert.rejects(world.accessTokens.verify(await issuer.sign(good, { header })), isUnauthenticated);
  for (const text of ["", "x", "a.b.c", `${await mint(world)}x`]) await assert.rejects(world.accessTokens.verify(text), isUnauthenticated);
});

test("an access token survives a key rotation, and the cache is dropped when the keys change", async () => {
  await using world = await createFixture();
  const token = await mint(world);
  await world.accessTokens.verify(token);
  world.clock.advance(1000);
  await world.keys.rotate();
  await world.accessTokens.verify(token);
  await world.store.transaction((db) => db.deleteFrom("signing_key").where("retire_time", "is not", null).execute());
  await world.keys.refresh();
  await assert.rejects(world.accessTokens.verify(token), isUnauthenticated);
});

test("the cap claim of an identity with very many bindings fits into a header and has the oldest bindings", async () => {
  await using world = await createFixture();
  const [group, folder] = [await world.addGroup(), await world.addGroup(await world.addGroup())];
  const user = await world.addIdentity("", { case: "servicePrincipal", value: 1 });
  await world.bind(user, group, 1n);
  await world.bind(user, folder, 1n);
  world.clock.advance(1);
  for (let i = 0; i < 100; i++) await world.bind(user, await world.addGroup(), (1n << 200n) - 1n);
  const token = await mint(world, { access: (await world.grants.load(user)).access });
  assert.ok(token.length < 8000);
  assert.deepEqual(
    Object.keys(claimsOf(token).cap as object)
      .slice(0, 2)
      .sort(),
    [folder, group].sort(),
  );
});
