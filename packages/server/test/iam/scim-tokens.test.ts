import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { verifyScimToken } from "../../src/iam/identities/scim-credential.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid, uidFromText } from "../../src/lib/uid.ts";
import { codeOf, type HttpAnswer } from "../harness/clients.ts";
import { builtInRole, providerIn } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { CAP_IAM_IDENTITY_PROVIDERS_LIST, CAP_IAM_SCIM_MANAGE } = Capability;
const MINUTE = 60 * 1000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describeWithWorld("SCIM tokens", (world) => {
  const call = (uid: string, verb: string, body: JsonObject = {}, token?: string) =>
    world.raw("POST", `/iam/v2/identityProviders/${uid}:${verb}`, body, token);
  const ok = ({ status, text }: HttpAnswer): JsonObject => {
    assert.equal(status, 200, text);
    return parse(text);
  };
  const provider = async () => providerIn(world, await world.group("", "acme"));
  const scimOf = async (uid: string) => parse((await world.raw("GET", `/iam/v2/identityProviders/${uid}`)).text).scim as JsonObject;
  const stateOf = async (uid: string) => textOf((await scimOf(uid)).credentialState).replace("CREDENTIAL_STATE_", "");
  const generate = async (uid: string, body?: JsonObject) => ok(await call(uid, "generateScimToken", body));
  const regenerate = async (uid: string, body: JsonObject = {}) =>
    ok(await call(uid, "regenerateScimToken", { etag: (await scimOf(uid)).etag ?? "", ...body }));
  const inTime = (ms: number) => new Date(world.clock.now().getTime() + ms);
  const works = async (token: unknown, ms = 0) =>
    (await verifyScimToken(world.store.reader, textOf(token as string), inTime(ms))) !== undefined;
  const after = (ms: number) => inTime(ms).toISOString();

  it("a SCIM token is shown once and stored as a hash", async () => {
    const uid = await provider();
    assert.equal(await stateOf(uid), "NOT_ISSUED");
    const { token, ...rest } = await generate(uid);
    assert.match(textOf(token), /^cgscim_[0-9a-f]{64}$/);
    const expireTime = new Date(world.clock.now());
    expireTime.setUTCFullYear(expireTime.getUTCFullYear() + 1);
    const { etag, endpointUrl, ...scim } = await scimOf(uid);
    assert.deepEqual(rest, {
      endpointUrl: `${world.baseUrl}/scim/v2/${uid}`,
      expireTime: expireTime.toISOString(),
      identityProviderUid: uid,
      etag,
    });
    assert.deepEqual(scim, { enabled: false, tokenExpireTime: expireTime.toISOString(), credentialState: "CREDENTIAL_STATE_LIVE" });
    const row = await world.store.reader.selectFrom("scim_token").selectAll().where("idp_uid", "=", uid).executeTakeFirstOrThrow();
    assert.equal(row.token_hash, createHash("sha256").update(textOf(token)).digest("hex"));
  });

  it("a SCIM token is in no other answer, in no event, and not in the database", async () => {
    const uid = await provider();
    const tokens = [textOf((await generate(uid)).token), textOf((await regenerate(uid)).token)];
    const texts = [
      (await world.raw("GET", `/iam/v2/identityProviders/${uid}`)).text,
      (await world.raw("GET", "/iam/v2/identityProviders")).text,
      (await call(uid, "generateScimToken")).text,
      (await call(uid, "revokeScimToken")).text,
      JSON.stringify(await world.store.reader.selectFrom("outbox").selectAll().orderBy("seq").execute()),
      JSON.stringify(await world.store.reader.selectFrom("scim_token").selectAll().execute()),
    ];
    for (const name of await readdir(world.dataDir))
      if (/^holt\.db/.test(name)) texts.push(await readFile(join(world.dataDir, name), "latin1"));
    for (const text of texts) assert.ok(!tokens.some((token) => text.includes(token.slice(7))));
  });

  it("lists show only whether SCIM is enabled, its URL and its etag", async () => {
    const uid = await provider();
    await generate(uid);
    await regenerate(uid);
    const { identityProviders } = parse((await world.raw("GET", `/iam/v2/identityProviders?uidp.ids=${uid}`)).text);
    const { etag, endpointUrl } = await scimOf(uid);
    const shown = { enabled: false, endpointUrl, credentialState: "CREDENTIAL_STATE_UNSPECIFIED", etag };
    assert.deepEqual((identityProviders as JsonObject[])[0]?.scim, shown);
  });

  it("a SCIM token lasts a year by default, at most two years, or forever", async () => {
    const generated = async (body: JsonObject) => call(await provider(), "generateScimToken", body);
    assertInvalid(await generated({ expireTime: after(DAY), neverExpires: true }), "never_expires");
    for (const expireTime of [after(0), after(-1), after(3 * 366 * DAY), after(732 * DAY)])
      assertInvalid(await generated({ expireTime }), "expire_time");
    const noTime = { seconds: BigInt(Math.floor(world.clock.now().getTime() / 1000) + 86_400), nanos: -5 };
    const request = { identityProviderUid: await provider(), expireTime: noTime };
    const overGrpc = await world.grpc.call(IdentityProvidersService.method.generateScimToken, request, world.owner.token);
    assert.equal(codeOf(overGrpc), Code.INVALID_ARGUMENT);
    assert.equal(ok(await generated({ expireTime: after(730 * DAY) })).expireTime, after(730 * DAY));
    const uid = await provider();
    const { token, expireTime } = await generate(uid, { neverExpires: true });
    assert.equal(expireTime, undefined);
    assert.equal((await scimOf(uid)).tokenExpireTime, undefined);
    await enable(uid);
    assert.equal(await works(token, 20 * 365 * DAY), true);
  });

  it("a SCIM token stops working when it expires", async () => {
    const uid = await provider();
    const { token } = await generate(uid, { expireTime: after(MINUTE) });
    await enable(uid);
    assert.equal(await works(token), true);
    world.clock.advance(MINUTE - 1);
    assert.deepEqual([await works(token), await stateOf(uid)], [true, "LIVE"]);
    world.clock.advance(1);
    assert.deepEqual([await works(token), await stateOf(uid)], [false, "EXPIRED"]);
    // An expired token is replaced without an overlap.
    const next = await regenerate(uid, { overlap: "3600s" });
    assert.equal(next.previousTokenExpireTime, undefined);
    assert.deepEqual([await works(token), await works(next.token), await stateOf(uid)], [false, true, "LIVE"]);
  });

  it("a SCIM token is generated once and only replaced from then on, also after revocation", async () => {
    const uid = await provider();
    for (const [verb, body] of [
      ["regenerateScimToken", { etag: "x" }],
      ["revokeScimToken", {}],
      ["setScimEnabled", { etag: "x", enabled: true }],
    ] as const)
      assertAbout(await call(uid, verb, body), Code.NOT_FOUND, "ScimToken", uid);
    await generate(uid);
    const refused = () => call(uid, "generateScimToken");
    const said = "the identity provider already has a SCIM token; regenerate it";
    assertPrecondition(await refused(), "SCIM_TOKEN_EXISTS", said);
    ok(await call(uid, "revokeScimToken"));
    assertPrecondition(await refused(), "SCIM_TOKEN_EXISTS", said);
    await regenerate(uid);
    assert.equal(await stateOf(uid), "LIVE");
  });

  it("a replaced SCIM token keeps working for the overlap: an hour by default, a day at most", async () => {
    for (const [overlap, effective] of [
      [undefined, HOUR],
      ["90s", 1.5 * MINUTE],
      ["86400s", DAY],
      ["1000000s", DAY],
    ] as const) {
      const uid = await provider();
      const first = await generate(uid);
      await enable(uid);
      const second = await regenerate(uid, overlap === undefined ? {} : { overlap });
      assert.equal(second.previousTokenExpireTime, after(effective));
      assert.equal(second.requestedOverlap, overlap ?? "3600s");
      assert.equal((await scimOf(uid)).previousTokenExpireTime, after(effective));
      assert.deepEqual([await works(first.token), await works(second.token), await stateOf(uid)], [true, true, "ROTATING"]);
      assert.equal(await works(first.token, effective - 1), true);
      assert.deepEqual([await works(first.token, effective), await works(second.token, effective)], [false, true]);
      if (effective >= HOUR) continue;
      world.clock.advance(effective);
      assert.equal(await stateOf(uid), "LIVE");
    }
  });

  it("a replaced SCIM token ends at once without an overlap, and never later than its own expiry", async () => {
    const uid = await provider();
    const first = await generate(uid, { expireTime: after(600_000) });
    await enable(uid);
    const second = await regenerate(uid, { overlap: "3600s", neverExpires: true });
    assert.equal(second.previousTokenExpireTime, after(600_000));
    const third = await regenerate(uid, { overlap: "0s" });
    assert.deepEqual([third.previousTokenExpireTime, third.requestedOverlap], [after(0), "0s"]);
    assert.deepEqual(await Promise.all([first, second, third].map(({ token }) => works(token))), [false, false, true]);
    assertInvalid(await call(uid, "regenerateScimToken", { etag: textOf(third.etag), overlap: "-1s" }), "overlap");
    assertInvalid(await call(uid, "regenerateScimToken", {}), "etag");
  });

  it("a SCIM token that was replaced twice ends even within its overlap", async () => {
    const uid = await provider();
    const first = await generate(uid);
    await enable(uid);
    const second = await regenerate(uid, { overlap: "86400s" });
    const third = await regenerate(uid, { overlap: "86400s" });
    assert.deepEqual(await Promise.all([first, second, third].map(({ token }) => works(token))), [false, true, true]);
  });

  it("revoking ends the SCIM token and its predecessor at once, can be repeated, and keeps SCIM enabled", async () => {
    const uid = await provider();
    const first = await generate(uid);
    await enable(uid);
    const second = await regenerate(uid);
    const revoked = ok(await call(uid, "revokeScimToken"));
    assert.deepEqual(revoked, { identityProviderUid: uid, etag: (await scimOf(uid)).etag, enabled: true, revokeTime: after(0) });
    assert.deepEqual([await works(first.token), await works(second.token), await stateOf(uid)], [false, false, "REVOKED"]);
    const events = await eventCount(uid);
    world.clock.advance(1000);
    assert.deepEqual(ok(await call(uid, "revokeScimToken")), revoked);
    assert.equal(await eventCount(uid), events);
    const third = await regenerate(uid);
    assert.equal(third.previousTokenExpireTime, undefined);
    assert.deepEqual([await works(first.token), await works(second.token), await works(third.token)], [false, false, true]);
  });

  it("changing a SCIM token requires its etag, which every change renews", async () => {
    const uid = await provider();
    const seen = new Set([(await generate(uid)).etag]);
    const first = textOf((await scimOf(uid)).etag);
    seen.add((await regenerate(uid)).etag);
    for (const [verb, body] of [
      ["regenerateScimToken", {}],
      ["setScimEnabled", { enabled: false }],
    ] as const) {
      const { code } = parse((await call(uid, verb, { ...body, etag: first })).text);
      assert.equal(code, Code.ABORTED);
    }
    seen.add(textOf(ok(await call(uid, "revokeScimToken")).etag));
    seen.add(await enable(uid));
    assert.equal(seen.size, 4);
    assert.equal(seen.has((await scimOf(uid)).etag as string), true);
  });

  it("exactly one of several concurrent regenerations with one etag succeeds", async () => {
    for (let round = 0; round < 5; round++) {
      const uid = await provider();
      const etag = textOf((await generate(uid)).etag);
      await enable(uid);
      const { etag: current } = await scimOf(uid);
      assert.notEqual(current, etag);
      const answers = await Promise.all([1, 2, 3].map(() => call(uid, "regenerateScimToken", { etag: current ?? "" })));
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
      const winner = answers.find(({ status }) => status === 200);
      const { token } = ok(winner as HttpAnswer);
      assert.equal(await works(token), true);
      assert.equal((await scimOf(uid)).etag, parse(winner?.text ?? "").etag);
    }
    const uid = await provider();
    const firsts = await Promise.all([1, 2, 3].map(() => call(uid, "generateScimToken")));
    assert.deepEqual(firsts.map(({ status }) => status).toSorted(), [200, 400, 400]);
  });

  it("SCIM can be enabled only if two owners are bound directly", async () => {
    const uid = await provider();
    const { token, etag } = await generate(uid);
    const on = (tag: unknown) => call(uid, "setScimEnabled", { enabled: true, etag: textOf(tag as string) });
    const said =
      "provisioning needs 2 owners with role bindings at the organization, so that a fault in the directory cannot lock everybody out";
    assertPrecondition(await on(etag), "TOO_FEW_OWNERS", said);
    const org = uid.slice(0, 40);
    await world.bind(uidFromText("a viewer"), await builtInRole(world, "viewer"), org);
    // An owner with two bindings counts once.
    const { capabilities } = parse((await world.raw("GET", `/iam/v2/roles/${await builtInRole(world, "owner")}`)).text);
    const asGood = textOf(parse((await world.raw("POST", `/iam/v2/roles/${org}`, { name: "as good", capabilities })).text).uid);
    await world.bind(world.owner.uid, asGood, org);
    assertPrecondition(await on(etag), "TOO_FEW_OWNERS", said);
    assert.equal(await isOn(token), false);
    await world.bind(uidFromText("somebody else"), asGood, org);
    const enabled = ok(await on(etag));
    assert.deepEqual([enabled.identityProviderUid, enabled.enabled, enabled.etag === etag], [uid, true, false]);
    assert.equal(await isOn(token), true);
    const events = await eventCount(uid);
    assert.deepEqual(ok(await on(enabled.etag)), enabled);
    assert.equal(await eventCount(uid), events);
    const off = ok(await call(uid, "setScimEnabled", { enabled: false, etag: textOf(enabled.etag) }));
    assert.equal(off.enabled, false);
    assert.equal(await isOn(token), false);
  });

  it("only a caller that holds what the provider's groups give can create and enable a SCIM token", async () => {
    const org = await world.group("", "acme");
    const uid = await providerIn(world, org);
    const manager = await world.robot(org, [CAP_IAM_SCIM_MANAGE, CAP_IAM_IDENTITY_PROVIDERS_LIST]);
    const body = { externalGroupId: "g", roleUid: await builtInRole(world, "viewer"), scope: org };
    const mapping = textOf(parse((await world.raw("POST", `/iam/v2/externalGroupRoleMappings/${uid}`, body)).text).uid);
    assertRefused(await call(uid, "generateScimToken", {}, manager.token), Code.PERMISSION_DENIED);
    const { etag } = await generate(uid);
    assertRefused(await call(uid, "regenerateScimToken", { etag: textOf(etag) }, manager.token), Code.PERMISSION_DENIED);
    await world.raw("DELETE", `/iam/v2/externalGroupRoleMappings/${mapping}`);
    assert.equal((await call(uid, "regenerateScimToken", { etag: textOf(etag) }, manager.token)).status, 200);
    assert.equal((await call(uid, "revokeScimToken", {}, manager.token)).status, 200);
  });

  it("an unknown SCIM token in the right format is rejected", async () => {
    for (const token of ["", "cgscim_", `cgscim_${"0".repeat(64)}`, `cgscim_${"0".repeat(63)}g`, newUid("")])
      assert.equal(await works(token), false);
  });

  /** @returns the new etag */
  async function enable(uid: string): Promise<string> {
    await world.bind(uidFromText("a second owner"), await builtInRole(world, "owner"), uid.slice(0, 40));
    const { etag } = await scimOf(uid);
    return textOf(ok(await call(uid, "setScimEnabled", { enabled: true, etag: etag ?? "" })).etag);
  }

  async function isOn(token: unknown): Promise<boolean> {
    return (await verifyScimToken(world.store.reader, textOf(token as string), world.clock.now()))?.isEnabled === true;
  }

  async function eventCount(uid: string): Promise<number> {
    return (await world.store.reader.selectFrom("outbox").select("seq").where("subject", "=", uid).orderBy("seq").execute()).length;
  }
});
