import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, type FixtureOptions, ISSUER } from "../../../test/harness/exchange-fixture.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { startIssuer } from "../../../test/harness/oidc-issuer.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import { userIdentityUid } from "../identities/user-identity.ts";

async function setUp(options: FixtureOptions & { isListed?: boolean } = {}) {
  const issuer = await startIssuer({ now: () => world.clock.now() });
  const world = await createFixture({ clientIds: ["login"], userIssuers: options.isListed === false ? [] : [issuer.issuer], ...options });
  async function register(bearer: string | undefined, more: { code?: string; identityId?: string } = {}) {
    const prepared = await world.registrations.prepareRegister(
      { bearer, code: "", identityId: "", ...more },
      world.clock.now(),
      world.store.reader,
    );
    const { changed, groupUid } = await world.store.transaction((db) => world.registrations.recordRegister(db, prepared));
    return { uid: prepared.identityUid, changed, groupUid };
  }
  return {
    world,
    issuer,
    register,
    async [Symbol.asyncDispose]() {
      await issuer[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

function fails(code: Code, text = /./): (error: unknown) => boolean {
  return (error) => error instanceof HoltError && error.code === code && text.test(error.message);
}

const ALICE = { sub: "github|17", aud: "login", email: "Alice+x@acme.test", email_verified: true };

test("registering an account creates an identity in root, and registering again changes nothing", async () => {
  await using s = await setUp();
  const bearer = await s.issuer.sign(ALICE);
  const { uid, changed } = await s.register(bearer);
  assert.deepEqual([uid, changed], [userIdentityUid(s.issuer.issuer, ALICE.sub), true]);
  const row = () => s.world.store.reader.selectFrom("identity").selectAll().where("uid", "=", uid).executeTakeFirstOrThrow();
  const first = await row();
  const time = s.world.clock.now().toISOString();
  assert.equal(
    first.body,
    `{"uid":"${uid}","name":"alice-x-acme.test","description":"","email":"Alice+x@acme.test","emailUnverified":"","company":"","lastSeenTime":"${time}","createTime":"${time}","updateTime":"${time}","claimMatch":{"issuer":"${s.issuer.issuer}","subject":"github|17","claims":{},"claimPatterns":{}}}`,
  );
  assert.deepEqual([first.parent, first.relationship_type, first.create_time], [null, 1, time]);
  s.world.clock.advance(1000);
  assert.deepEqual(await s.register(bearer), { uid, changed: false, groupUid: "" });
  assert.deepEqual(await row(), first);
});

test("a login is not found before registration and works right after it, even if its absence was cached", async () => {
  await using s = await setUp();
  const bearer = await s.issuer.sign(ALICE);
  await assert.rejects(s.world.exchangeToken(bearer), fails(Code.NOT_FOUND, /register/));
  assert.equal((await s.world.grants.load(userIdentityUid(s.issuer.issuer, ALICE.sub))).exists, false);
  const { uid } = await s.register(bearer);
  const { token, refreshToken } = await s.world.exchangeToken(bearer);
  assert.equal((await s.world.accessTokens.verify(token.token)).uid, uid);
  assert.ok(refreshToken);
  const targeted = await s.world.exchangeToken(bearer, { identity: uid });
  assert.equal((await s.world.accessTokens.verify(targeted.token.token)).uid, uid);
  assert.equal(targeted.refreshToken, undefined);
});

test("only accounts of listed issuers can register, and other issuers are not contacted", async () => {
  await using s = await setUp({ isListed: false });
  const bearer = await s.issuer.sign(ALICE);
  await assert.rejects(s.register(bearer), fails(Code.PERMISSION_DENIED, /HOLT_USER_ISSUERS/));
  await assert.rejects(s.world.exchangeToken(bearer), fails(Code.NOT_FOUND));
  assert.equal(s.issuer.requests, 0);
});

test("users of an issuer that is no longer trusted cannot sign in, and get the error of unknown users", async () => {
  const url = await createMigratedDatabase();
  await using before = await setUp({ url });
  const bearer = await before.issuer.sign(ALICE);
  const { uid } = await before.register(bearer);
  const refresh = (await before.world.exchangeToken(bearer)).refreshToken?.token ?? "";
  await using after = await createFixture({ url, clientIds: ["login"] });
  const requests = before.issuer.requests;
  const textOf = (promise: Promise<unknown>) => promise.then(String, (error: HoltError) => error.message);
  await assert.rejects(after.exchangeToken(bearer), fails(Code.NOT_FOUND));
  await assert.rejects(after.exchangeToken(bearer, { identity: uid }), fails(Code.PERMISSION_DENIED, /invalid "iss"/));
  await assert.rejects(after.refreshToken(refresh), fails(Code.UNAUTHENTICATED, /issuer/));
  const nobody = await before.issuer.sign({ ...ALICE, sub: "nobody" });
  assert.equal(await textOf(after.exchangeToken(bearer)), await textOf(after.exchangeToken(nobody)));
  assert.equal(
    await textOf(after.exchangeToken(bearer, { identity: uid })),
    await textOf(after.exchangeToken(bearer, { identity: newUid("") })),
  );
  assert.equal(before.issuer.requests, requests);
  await before.world.refreshToken(refresh);
});

test("a token that is forged, for another audience or without a subject registers nobody", async () => {
  await using s = await setUp();
  await using forger = await startIssuer({ now: s.world.clock.now });
  for (const bearer of [
    undefined,
    "",
    "x",
    await forger.sign({ ...ALICE, iss: s.issuer.issuer }),
    await s.issuer.sign({ ...ALICE, aud: "other" }),
    await s.issuer.sign({ ...ALICE, aud: ["login", "other"] }),
    await s.issuer.sign({ ...ALICE, aud: ["login", "other"], azp: "other" }),
    await s.issuer.sign({ ...ALICE, sub: undefined }),
    await s.issuer.sign({ ...ALICE, exp: s.world.clock.now().getTime() / 1000 - 100 }),
  ]) {
    await assert.rejects(s.register(bearer), fails(Code.UNAUTHENTICATED), bearer);
  }
  assert.deepEqual(await s.world.store.reader.selectFrom("identity").select("uid").execute(), []);
  await s.register(await s.issuer.sign({ ...ALICE, aud: ISSUER }));
  await s.register(await s.issuer.sign({ ...ALICE, aud: ["other", "login"], azp: "login" }));
  await s.register(await s.issuer.sign({ ...ALICE, aud: ["other", ISSUER], azp: "other" }));
});

test("registration fails with a malformed invite code or an unexpected identity uid", async () => {
  await using s = await setUp();
  const bearer = await s.issuer.sign(ALICE);
  await assert.rejects(s.register(bearer, { code: "abc" }), fails(Code.INVALID_ARGUMENT, /code/));
  const unknown = Buffer.from('{"grp":"a","sig":"b"}').toString("base64");
  await assert.rejects(s.register(bearer, { code: unknown }), fails(Code.NOT_FOUND, /invite/));
  await assert.rejects(s.register(bearer, { identityId: "f".repeat(40) }), fails(Code.INVALID_ARGUMENT, /identity_id/));
  assert.deepEqual(await s.world.store.reader.selectFrom("identity").select("uid").execute(), []);
  await s.register(bearer, { identityId: userIdentityUid(s.issuer.issuer, ALICE.sub) });
});
