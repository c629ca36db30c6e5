import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const path = "/iam/v2/groupInvites";
const HOUR = 60 * 60 * 1000;
const ALTERED = /[A-Za-z0-9]/;

interface Invite extends JsonObject {
  readonly uid: string;
  readonly code: string;
  readonly keyId: string;
}

/** The identity that the proof belongs to. */
const register = (world: World, code: string, proof: string) => world.raw("POST", "/auth/v1/register", { code }, proof);

async function invite(world: World, group: string, fields: JsonObject = {}): Promise<Invite> {
  const answer = await world.raw("POST", `${path}/${group}`, { roleUid: await builtInRole(world, "viewer"), ttl: "3600s", ...fields });
  assert.equal(answer.status, 200, answer.text);
  return parse(answer.text) as Invite;
}

/** Bindings of the user in the group. */
async function bindingsOf(world: World, subject: string, group: string): Promise<JsonObject[]> {
  const answer = await world.raw("GET", `/iam/v2/roleBindings?identity=${world.userUid(subject)}&group=${group}`);
  return parse(answer.text).roleBindings as JsonObject[];
}

describeWithWorld("group invites", (world) => {
  it("an invite code is in the answer to Create only, not in the database or in events", async () => {
    const group = await world.group(world.orgUid);
    const made = await invite(world, group, { email: "ann@example.com" });
    assert.match(made.code, /^eyJncnAiOi[0-9a-zA-Z+/=]+$/);
    const { grp, id, exp, kid, sig, ...rest } = parse(Buffer.from(made.code, "base64").toString());
    assert.deepEqual(
      [grp, id, exp, kid, rest],
      [group, made.uid, Math.floor(Date.parse(textOf(made.expirationTime)) / 1000), made.keyId, {}],
    );
    assert.match(made.keyId, /^[0-9a-f]{40}$/);
    assert.match(textOf(sig), /^[\w-]{43}$/);
    assert.equal(made.ttl, undefined);
    const read = (await world.raw("GET", `${path}/${made.uid}`)).text;
    assert.deepEqual(parse(read), { ...made, code: "" });
    assert.deepEqual(parse((await world.raw("GET", `${path}?uidp.childrenOf=${group}`)).text).groupInvites, [{ ...made, code: "" }]);
    const overGrpc = await world.grpc.call(GroupInvitesService.method.getGroupInvite, { uid: made.uid }, world.owner.token);
    assert.ok(overGrpc.ok && overGrpc.value.code === "");
    const rows = await world.store.reader.selectFrom("group_invite").selectAll().where("uid", "=", made.uid).orderBy("uid").execute();
    const events = await world.store.reader.selectFrom("outbox").selectAll().where("subject", "=", made.uid).orderBy("seq").execute();
    for (const secret of [made.code, textOf(sig)]) assert.ok(!JSON.stringify([rows, events]).includes(secret));
    assert.equal(events.length, 1);
    assert.deepEqual(parse(events[0]?.data ?? "").body, { uid: made.uid, expiration_time: made.expirationTime });
  });

  it("an invite shows its role as it is now, and none once the role is deleted", async () => {
    const group = await world.group(world.orgUid);
    const roleUid = await world.role(group, [Capability.CAP_REPO_LIST]);
    const { uid, role } = await invite(world, group, { roleUid });
    assert.deepEqual(role, { uid: roleUid, name: "role", description: "", capabilities: ["CAP_REPO_LIST"] });
    await world.raw("PATCH", `/iam/v2/roles/${roleUid}`, { name: "renamed", capabilities: ["CAP_TAG_LIST"] });
    const get = async () => parse((await world.raw("GET", `${path}/${uid}`)).text);
    assert.deepEqual((await get()).role, { uid: roleUid, name: "renamed", description: "", capabilities: ["CAP_TAG_LIST"] });
    assert.equal((await world.raw("DELETE", `/iam/v2/roles/${roleUid}`)).status, 200);
    const left = await get();
    assert.deepEqual([left.role, left.roleUid], [undefined, roleUid]);
  });

  it("invites are listed newest first, are found by key id, and stay readable after they expire", async () => {
    const group = await world.group(world.orgUid);
    const made: Invite[] = [];
    for (const ttl of ["600s", "60s", "900s"]) {
      made.push(await invite(world, group, { ttl }));
      world.clock.advance(1000);
    }
    const list = async (query: string) => {
      const { groupInvites, totalCount } = parse((await world.raw("GET", `${path}?uidp.childrenOf=${group}${query}`)).text);
      return { uids: (groupInvites as Invite[]).map(({ uid }) => uid), totalCount };
    };
    const [first, second, third] = made.map(({ uid }) => uid);
    assert.deepEqual((await list("")).uids, [third, second, first]);
    assert.deepEqual((await list("&order_by=expiration_time")).uids, [second, first, third]);
    assert.deepEqual(await list(`&key_id=${made[0]?.keyId}`), { uids: [first], totalCount: "1" });
    assert.deepEqual((await list(`&key_id=${"0".repeat(40)}`)).uids, []);
    world.clock.advance(HOUR / 2);
    assert.equal((await list("")).uids.length, 3);
    assert.equal((await world.raw("GET", `${path}/${second}`)).status, 200);
    world.clock.advance(-HOUR / 2 - 3000);
  });

  it("an invite needs a role and a lifetime, and its email must be valid", async () => {
    const roleUid = await builtInRole(world, "viewer");
    const create = (body: JsonObject) => world.raw("POST", `${path}/${world.orgUid}`, body);
    assertInvalid(await create({}), "role_uid", "ttl");
    assertInvalid(await create({ roleUid, ttl: "0s" }), "ttl");
    assertInvalid(await create({ roleUid, ttl: "-1s" }), "ttl");
    assertInvalid(await create({ roleUid, ttl: "315576000000s" }), "ttl");
    assertInvalid(await create({ roleUid: "viewer", ttl: "1s" }), "role_uid");
    for (const email of ["ann", "ann@", "@example.com", "ann @example.com", "a@b@c", "ann@example.com,bob@example.com\n"])
      assertInvalid(await create({ roleUid, ttl: "1s", email }), "email");
    assertAbout(await create({ roleUid: newUid(""), ttl: "1s" }), Code.NOT_FOUND, "Role");
    assert.equal((await create({ roleUid, ttl: "0.000001s" })).status, 200);
    assert.equal((await create({ roleUid, ttl: "3000000000s" })).status, 200);
  });

  it("an invite cannot give more than its creator holds at that group", async () => {
    const group = await world.group(world.orgUid);
    const { CAP_IAM_GROUP_INVITES_CREATE, CAP_IAM_ROLE_BINDINGS_CREATE, CAP_REPO_LIST } = Capability;
    const small = await world.role(world.orgUid, [CAP_REPO_LIST]);
    const able = await world.robot(group, [CAP_IAM_GROUP_INVITES_CREATE, CAP_IAM_ROLE_BINDINGS_CREATE, CAP_REPO_LIST]);
    const create = (roleUid: string, token: string, place = group) => world.raw("POST", `${path}/${place}`, { roleUid, ttl: "60s" }, token);
    assert.equal((await create(small, able.token)).status, 200);
    assertRefused(await create(await builtInRole(world, "viewer"), able.token), Code.PERMISSION_DENIED);
    assertRefused(await create(small, able.token, world.orgUid), Code.PERMISSION_DENIED);
    const lister = await world.robot(group, [CAP_REPO_LIST]);
    const { message } = assertRefused(await create(small, lister.token), Code.PERMISSION_DENIED);
    assert.equal(message, `Permission denied: group_invites.create, role_bindings.create are needed at ${group}`);
    for (const half of [CAP_IAM_GROUP_INVITES_CREATE, CAP_IAM_ROLE_BINDINGS_CREATE]) {
      const unable = await world.robot(group, [half, CAP_REPO_LIST]);
      assertRefused(await create(small, unable.token), Code.PERMISSION_DENIED);
    }
    const elsewhere = await world.role(await world.group(world.orgUid), [CAP_REPO_LIST]);
    assertInvalid(await create(elsewhere, world.owner.token), "role_uid");
  });

  it("an invite does not give capabilities that someone without them added to its role", async () => {
    const group = await world.group(world.orgUid);
    const roleUid = await world.role(group, [Capability.CAP_REPO_LIST]);
    const mallory = await world.robot(group, [Capability.CAP_IAM_ROLES_UPDATE]);
    const add = () =>
      world.raw("PATCH", `/iam/v2/roles/${roleUid}`, { capabilities: ["CAP_REPO_LIST", "CAP_IAM_GROUPS_DELETE"] }, mallory.token);
    await invite(world, group, { roleUid });
    assertRefused(await add(), Code.PERMISSION_DENIED);
  });

  it("an invite does not give capabilities added to its role while it is redeemed", async () => {
    const group = await world.group(world.orgUid);
    const mallory = await world.robot(group, [Capability.CAP_IAM_ROLES_UPDATE]);
    for (let round = 0; round < 8; round++) {
      const roleUid = await world.role(group, [Capability.CAP_REPO_LIST]);
      const { code } = await invite(world, group, { roleUid, singleUse: true });
      const proof = await world.proofOf(`accomplice ${roleUid}`);
      const body = { capabilities: ["CAP_REPO_LIST", "CAP_IAM_GROUPS_DELETE"] };
      const [joined, ...added] = await Promise.all([
        register(world, code, proof),
        ...[1, 2, 3].map(() => world.raw("PATCH", `/iam/v2/roles/${roleUid}`, body, mallory.token)),
      ]);
      assert.equal(joined?.status, 200);
      for (const answer of added) assertRefused(answer, Code.PERMISSION_DENIED);
    }
  });

  it("registering with an invite code binds the role at the group at once, and only once", async () => {
    const group = await world.group(world.orgUid);
    const { code } = await invite(world, group);
    const proof = await world.proofOf("invited");
    for (let i = 0; i < 2; i++) {
      const answer = await register(world, code, proof);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(parse(answer.text), { identity: world.userUid("invited"), group });
      assert.equal((await bindingsOf(world, "invited", group)).length, 1);
    }
    const { token } = parse((await world.raw("POST", "/sts/exchange", undefined, proof)).text);
    assert.equal((await world.raw("GET", `/iam/v2/groups/${group}`, undefined, textOf(token))).status, 200);
    assertRefused(await world.raw("PATCH", `/iam/v2/groups/${group}`, { name: "x" }, textOf(token)), Code.PERMISSION_DENIED);
    const events = await world.store.reader.selectFrom("outbox").selectAll().where("group_uid", "=", group).orderBy("seq").execute();
    const told = events.filter(({ type }) => type.endsWith(".auth.registered.v1"));
    assert.deepEqual(
      told.map(({ data, subject }) => [subject, parse(data).body]),
      [["", { identity: world.userUid("invited"), group }]],
    );
    assert.ok(!JSON.stringify(events).includes(code));
    // A registered user joins, too.
    await world.user("known");
    assert.equal((await register(world, code, await world.proofOf("known"))).status, 200);
    assert.equal((await bindingsOf(world, "known", group)).length, 1);
  });

  it("a single-use invite lets in one of several concurrent users", async () => {
    for (let round = 0; round < 5; round++) {
      const group = await world.group(world.orgUid);
      const { code, uid } = await invite(world, group, { singleUse: true });
      const people = ["a", "b", "c", "d"].map((name) => `${name} of ${group}`);
      const proofs = await Promise.all(people.map((name) => world.proofOf(name)));
      const answers = await Promise.all(proofs.map((proof) => register(world, code, proof)));
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 404, 404, 404], answers.map(({ text }) => text).join());
      const bound = await Promise.all(people.map((name) => bindingsOf(world, name, group)));
      assert.equal(bound.flat().length, 1);
      assertAbout(await world.raw("GET", `${path}/${uid}`), Code.NOT_FOUND, "GroupInvite", uid);
      assert.equal(parse((await world.raw("GET", `${path}?uidp.childrenOf=${group}`)).text).totalCount, "0");
      // The others are not even registered.
      const lost = proofs[answers.findIndex(({ status }) => status === 404)] ?? "";
      assertRefused(await world.raw("POST", "/sts/exchange", undefined, lost), Code.NOT_FOUND);
    }
  });

  it("an invite redeemed while its group is deleted leaves no binding", async () => {
    for (let round = 0; round < 6; round++) {
      const group = await world.group(world.orgUid);
      const { code } = await invite(world, group, { singleUse: round % 2 === 0 });
      const proof = await world.proofOf(`racer of ${group}`);
      const [deleted, joined] = await Promise.all([world.raw("DELETE", `/iam/v2/groups/${group}`), register(world, code, proof)]);
      assert.equal(deleted.status, 200, deleted.text);
      assert.ok(joined.status === 200 || joined.status === 404, joined.text);
      assert.deepEqual(await bindingsOf(world, `racer of ${group}`, group), []);
    }
  });

  it("invites that are unknown, deleted, expired or without group or role give the same error", async () => {
    const proof = await world.proofOf("late");
    const [group, gone] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const deleted = await invite(world, group);
    await world.raw("DELETE", `${path}/${deleted.uid}`);
    const cascaded = await invite(world, gone);
    await world.raw("DELETE", `/iam/v2/groups/${gone}`);
    const roleUid = await world.role(group, [Capability.CAP_REPO_LIST]);
    const withoutRole = await invite(world, group, { roleUid });
    await world.raw("DELETE", `/iam/v2/roles/${roleUid}`);
    const expired = await invite(world, group, { ttl: "60s" });
    const there = await invite(world, group, { ttl: "86400s" });
    const content = parse(Buffer.from(there.code, "base64").toString());
    const forge = (changes: JsonObject) => Buffer.from(JSON.stringify({ ...content, ...changes })).toString("base64");
    const forged = [
      forge({ sig: Buffer.alloc(32).toString("base64url") }),
      forge({ sig: "" }),
      forge({ exp: Number(content.exp) + 1 }),
      forge({ id: expired.uid }),
      forge({ grp: world.orgUid }),
      forge({ kid: expired.keyId }),
      // An invite code of another server.
      Buffer.from(JSON.stringify({ grp: newUid(""), id: newUid(newUid("")), exp: 1, kid: "a", sig: "b" })).toString("base64"),
    ];
    world.clock.advance(60_000);
    const answers = [];
    for (const code of [deleted.code, cascaded.code, withoutRole.code, expired.code, ...forged])
      answers.push(await register(world, code, proof));
    for (const answer of answers) assertRefused(answer, Code.NOT_FOUND);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assertRefused(await world.raw("POST", "/sts/exchange", undefined, proof), Code.NOT_FOUND);
    assert.equal((await register(world, there.code, proof)).status, 200);
    world.clock.advance(-60_000);
  });

  it("a malformed or truncated invite code is an invalid argument", async () => {
    const proof = await world.proofOf("careless");
    const { code } = await invite(world, world.orgUid);
    const malformed = [
      "no code",
      code.slice(0, -1),
      code.slice(4),
      ` ${code}`,
      `${code}\n`,
      encodeURIComponent(`${code}=`),
      code.replace(ALTERED, "."),
      Buffer.from("{}").toString("base64"),
      Buffer.from("null").toString("base64"),
      Buffer.from('{"grp":1,"sig":2}').toString("base64"),
      "A".repeat(20_000),
    ];
    for (const text of malformed) assertInvalid(await register(world, text, proof), "code");
    // A code without its last character may still be base64, but it is not JSON or not an invite.
    for (let cut = 1; cut < 60; cut++) {
      const answer = await register(world, code.slice(0, -cut), proof);
      assert.ok(answer.status === 400 || answer.status === 404, answer.text);
    }
    for (let at = 0; at < code.length; at += 7) {
      const altered = code.slice(0, at) + (code[at] === "A" ? "B" : "A") + code.slice(at + 1);
      const answer = await register(world, altered, proof);
      assert.ok(answer.status === 400 || answer.status === 404, answer.text);
    }
    assert.deepEqual(await bindingsOf(world, "careless", world.orgUid), []);
  });

  it("an invite for an email lets in only a user with that verified email", async () => {
    const group = await world.group(world.orgUid);
    const { code } = await invite(world, group, { email: "Ann@Example.com", singleUse: true });
    const tries: readonly (readonly [string, JsonObject])[] = [
      ["none", {}],
      ["other", { email: "bob@example.com", email_verified: true }],
      ["longer", { email: "ann@example.com.evil.test", email_verified: true }],
      ["kelvin", { email: "ann@example.com".replace("x", "х"), email_verified: true }],
      ["unverified", { email: "ann@example.com", email_verified: false }],
      ["unsaid", { email: "ann@example.com" }],
    ];
    for (const [name, claims] of tries) {
      const answer = await register(world, code, await world.proofOf(name, claims));
      const { message } = assertRefused(answer, Code.PERMISSION_DENIED);
      assert.ok(!/ann@example/i.test(message), "tells whose the invite is");
      assert.deepEqual(await bindingsOf(world, name, group), []);
    }
    const proof = await world.proofOf("ann", { email: "ann@example.com", email_verified: true });
    assert.equal((await register(world, code, proof)).status, 200);
    assert.equal((await bindingsOf(world, "ann", group)).length, 1);
  });

  it("an organization's provider is believed about the email of an invite in that organization only", async () => {
    await using issuer = await startIssuer({ now: world.clock.now });
    const client = { issuer: issuer.issuer, clientId: "holt", clientSecret: "secret" };
    const defaultRole = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
    const provider = await world.raw("POST", `/iam/v2/identityProviders/${world.orgUid}`, { name: "ours", defaultRole, oidc: client });
    assert.equal(provider.status, 200, provider.text);
    const { uid: other } = parse((await world.raw("POST", "/iam/v2/groups", { name: "other" })).text);
    const email = "eve@example.com";
    const [inside, outside] = [await invite(world, world.orgUid, { email }), await invite(world, textOf(other), { email })];
    const open = await invite(world, textOf(other));
    const proof = await issuer.sign({ sub: "eve", aud: "holt", email, email_verified: true });
    assertRefused(await register(world, outside.code, proof), Code.PERMISSION_DENIED);
    const joined = await register(world, inside.code, proof);
    assert.equal(joined.status, 200, joined.text);
    assert.equal(parse(joined.text).group, world.orgUid);
    assert.equal((await register(world, open.code, proof)).status, 200);
  });

  it("redeeming an invite requires a token", async () => {
    const { code } = await invite(world, world.orgUid);
    assertRefused(await register(world, code, "garbage"), Code.UNAUTHENTICATED);
    assertRefused(await register(world, code, world.owner.token), Code.PERMISSION_DENIED);
  });
});
