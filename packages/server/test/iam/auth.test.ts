import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const HOUR = 60 * 60 * 1000;

describeWithWorld("signing in", (world) => {
  const exchange = (query: Record<string, string>, token: string) =>
    world.raw("POST", `/sts/exchange?${new URLSearchParams(query)}`, undefined, token);
  const register = (body: JsonObject, token: string) => world.raw("POST", "/auth/v1/register", body, token);
  const whoAmI = async ({ token }: Caller) => parse((await world.raw("GET", "/auth/v1/ok", undefined, token)).text);
  const status = async (token: unknown) => (await world.raw("GET", "/auth/v1/ok", undefined, textOf(token as string))).status;

  it("validating a token shows who the caller is, until when, and its capabilities by group", async () => {
    const group = await world.group(world.orgUid, "mine");
    const user = await world.user("me");
    await world.bind(user.uid, await builtInRole(world, "viewer"), group);
    assert.deepEqual((await whoAmI(user)).capabilities, []);
    await world.join(user, group);
    const me = await whoAmI(user);
    const now = Math.floor(world.clock.now().getTime() / 1000) * 1000;
    assert.deepEqual([me.issuer, me.subject, me.audience], [world.baseUrl, user.uid, [world.baseUrl]]);
    assert.deepEqual([Date.parse(textOf(me.issuedAt)), Date.parse(textOf(me.expiry))], [now, now + HOUR]);
    const [held, ...more] = me.capabilities as { group: JsonObject; role: JsonObject; capabilities: string[] }[];
    assert.ok(held);
    assert.deepEqual([held.group.id, held.group.name, held.role.name, more], [group, "mine", "viewer", []]);
    const viewer = parse((await world.raw("GET", `/iam/v2/roles/${held.role.id}`)).text).capabilities as string[];
    assert.equal((held.role.capabilities as string[]).length, viewer.length);
  });

  it("validating a token without a profile shows an account's own name, and none for a workload", async () => {
    const nameOf = async (caller: Caller) => ((await whoAmI(caller)).profile as JsonObject).name;
    assert.equal(await nameOf(world.owner), "bootstrap-owner");
    assert.equal(await nameOf(await world.robot(world.orgUid)), "");
  });

  it("validating a narrowed token shows the remaining capabilities", async () => {
    const narrow = await world.narrow(world.owner, { cap: ["groups.list", "roles.list"] });
    const { capabilities } = (await whoAmI(narrow)) as { capabilities: { group: JsonObject; capabilities: string[] }[] };
    const own = capabilities.find(({ group }) => group.id === world.orgUid);
    assert.deepEqual(own?.capabilities, ["groups.list", "roles.list"]);
  });

  it("a token that was not exchanged, and a password of a pull token, are refused with what they are for", async () => {
    for (const [token, expected] of [
      [await world.robotProof(), "it has another issuer; exchange it at /sts/exchange for an access token of this server"],
      [`holt_pt_${"x".repeat(49)}`, "it is the password of a pull token, which works with its user name at the registry and in libraries"],
    ] as const) {
      const { status, text } = await world.raw("GET", "/iam/v2/groups", undefined, token);
      assert.equal(status, 401);
      assert.equal(parse(text).message, `Unauthenticated: the token is not acceptable: ${expected}`);
    }
  });

  it("a token stops working after an hour", async () => {
    const robot = await world.robot(world.orgUid);
    assert.equal(await status(robot.token), 200);
    world.clock.advance(HOUR);
    assert.equal(await status(robot.token), 401);
    assert.equal(await status((await world.signIn(robot.uid)).token), 200);
    world.clock.advance(-HOUR);
  });

  it("registering with a listed issuer creates a user once", async () => {
    const proof = await world.proofOf("new");
    assertRefused(await exchange({}, proof), Code.NOT_FOUND);
    for (let i = 0; i < 2; i++) assert.deepEqual(parse((await register({}, proof)).text), { identity: world.userUid("new"), group: "" });
    assert.equal((await register({ identityId: world.userUid("new") }, proof)).status, 200);
    assertInvalid(await register({ identityId: world.userUid("other") }, proof), "identity_id");
    assert.equal((await exchange({}, proof)).status, 200);
    assertRefused(await register({}, world.owner.token), Code.PERMISSION_DENIED);
    assertRefused(await register({}, "garbage"), Code.UNAUTHENTICATED);
  });

  it("tokens are exchanged by GET and POST alike", async () => {
    const robot = await world.robot(world.orgUid);
    for (const method of ["GET", "POST"]) {
      const answer = await world.raw(method, `/sts/exchange?aud=${encodeURIComponent(world.baseUrl)}`, undefined, robot.token);
      const { token, expiry } = parse(answer.text);
      assert.equal(await status(token), 200);
      assert.match(textOf(expiry), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
  });

  it("an exchange accepts only known audiences, capabilities and groups", async () => {
    assertInvalid(await exchange({ aud: "https://elsewhere.example.com" }, world.owner.token), "aud");
    assertInvalid(await exchange({ cap: "nonsense" }, world.owner.token), "cap");
    assertInvalid(await exchange({ scopes: "nonsense" }, world.owner.token), "scopes");
    assertInvalid(await exchange({ scope: "nonsense" }, world.owner.token), "scopes");
  });

  it("assuming an identity that does not match gives the same error as assuming a missing one", async () => {
    const { uid } = await world.robot(world.orgUid);
    const user = await world.user("intruder");
    const missing = `${world.orgUid}/0123456789abcdef`;
    const proof = await world.proofOf("intruder");
    for (const token of [proof, user.token]) {
      const [there, gone] = [await exchange({ identity: uid }, token), await exchange({ identity: missing }, token)];
      assertRefused(there, Code.PERMISSION_DENIED);
      assert.equal(there.text, gone.text);
    }
  });

  it("an identity with a claim match follows changes of its claims at once and names the claim that does not match", async () => {
    const claimMatch = { issuer: world.issuer, subject: "workload" };
    const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "workload", claimMatch })).text);
    const proof = await world.proofOf("workload");
    const assume = () => exchange({ identity: textOf(uid) }, proof);
    const patch = (body: JsonObject) => world.raw("PATCH", `/iam/v2/identities/${uid}`, { claimMatch: body });
    const { token, refreshToken } = parse((await assume()).text);
    assert.equal((await whoAmI({ uid: "", token: textOf(token) })).subject, uid);
    assert.equal(refreshToken, "");
    const changes: readonly (readonly [JsonObject, string])[] = [
      [{ subject: "other" }, "sub"],
      [{ subjectPattern: "work" }, "sub"],
      [{ subjectPattern: "work.*" }, ""],
      [{ claims: { role: "admin" } }, "role"],
      [{ claims: {}, claimPatterns: { role: "a.*" } }, "role"],
      [{ claimPatterns: {}, audience: "elsewhere" }, "aud"],
      [{ audiencePattern: "http.*" }, ""],
      [{ issuer: "https://elsewhere.example.com" }, "iss"],
    ];
    for (const [change, claim] of changes) {
      assert.equal((await patch(change)).status, 200);
      const answer = await assume();
      if (claim === "") assert.equal(answer.status, 200, answer.text);
      else assert.ok(assertRefused(answer, Code.PERMISSION_DENIED).message.includes(`invalid "${claim}"`), answer.text);
    }
  });

  it("an identity with static keys cannot be assumed after they expire", async () => {
    const robot = await world.robot(world.orgUid);
    const expirationTime = new Date(world.clock.now().getTime() + HOUR / 2).toISOString();
    assert.equal((await world.raw("PATCH", `/iam/v2/identities/${robot.uid}`, { staticKeys: { expirationTime } })).status, 200);
    const { token } = await world.signIn(robot.uid);
    world.clock.advance(HOUR / 2);
    assert.equal(await status(token), 401);
    await assert.rejects(world.signIn(robot.uid), /code 7/);
    world.clock.advance(-HOUR / 2);
  });

  it("a user's refresh token works once, and using it twice revokes everything that came from it", async () => {
    await world.user("refreshing");
    const refresh = (token: string) => world.raw("POST", "/sts/exchange_refresh_token", undefined, token);
    const first = textOf(parse((await exchange({}, await world.proofOf("refreshing"))).text).refreshToken);
    const pair = parse((await refresh(first)).text) as { token: JsonObject; refreshToken: JsonObject };
    assert.equal(await status(pair.token.token), 200);
    const again = parse((await refresh(textOf(pair.refreshToken.token))).text) as { refreshToken: JsonObject };
    assertRefused(await refresh(first), Code.UNAUTHENTICATED);
    assertRefused(await refresh(textOf(again.refreshToken.token)), Code.UNAUTHENTICATED);
  });

  it("a token stays narrowed when it is exchanged for another identity", async () => {
    const user = await world.user("narrowed");
    await world.bind(user.uid, await builtInRole(world, "owner"), world.orgUid);
    const claimMatch = { issuer: world.baseUrl, subject: user.uid, audience: world.baseUrl };
    const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "second", claimMatch })).text);
    const role = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST, Capability.CAP_IAM_GROUPS_CREATE]);
    await world.bind(textOf(uid), role, world.orgUid);
    const narrow = await world.narrow(user, { cap: ["groups.list"] });
    const answer = await exchange({ identity: textOf(uid) }, narrow.token);
    assert.equal(answer.status, 200, answer.text);
    const token = textOf(parse(answer.text).token);
    assert.equal((await world.raw("GET", `/iam/v2/groups/${world.orgUid}`, undefined, token)).status, 200);
    assertRefused(await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, { name: "x" }, token), Code.PERMISSION_DENIED);
  });

  it("a workload's email claim is not believed, neither at once nor through another identity", async () => {
    const email = "ceo@acme.test";
    const claims = { email, email_verified: "true" };
    const create = async (claimMatch: JsonObject) =>
      textOf(parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "x", claimMatch })).text).uid);
    const target = await create({ issuer: world.baseUrl, subjectPattern: ".*", claims });
    const bot = await create({ issuer: world.issuer, subject: "bot" });
    const proof = await world.proofOf("bot", { email, email_verified: true });
    const token = textOf(parse((await exchange({ identity: bot }, proof)).text).token);
    assert.equal((await whoAmI({ uid: bot, token })).email, "");
    assert.match(assertRefused(await exchange({ identity: target }, token), Code.PERMISSION_DENIED).message, /invalid "email"/);
    const stored = parse((await world.raw("GET", `/iam/v2/identities/${bot}`)).text);
    assert.deepEqual([stored.email, stored.emailUnverified], ["", ""]);
  });

  it("nobody can sign in as the bootstrap owner with a token that names this server's address", async () => {
    const user = await world.user("not-the-owner");
    for (const token of [user.token, await world.proofOf(world.owner.uid)])
      assertRefused(await exchange({ identity: world.owner.uid }, token), Code.PERMISSION_DENIED);
  });

  it("a token is accepted only in a Bearer header, whatever the case of the scheme", async () => {
    const ask = async (authorization: string) => (await world.http("GET", "/auth/v1/ok", undefined, { authorization })).status;
    const { token } = world.owner;
    for (const good of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`]) assert.equal(await ask(good), 200);
    for (const bad of [token, `Basic ${token}`, "Bearer", "Bearer ", `Bearer ${token}x`, `Bearer ${token}.x`])
      assert.equal(await ask(bad), 401, bad);
    assert.equal((await world.http("GET", `/auth/v1/ok?access_token=${token}`, undefined, {})).status, 401);
  });

  it("a token with the algorithm none or another signer is rejected", async () => {
    const [, claims = ""] = world.owner.token.split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${claims}.`;
    assert.equal(await status(none), 401);
    assert.equal(await status(await world.proofOf("me")), 401);
  });
});

describeWithWorld("deleting an account", (world) => {
  const remove = (uid: string, token: string) => world.raw("DELETE", `/auth/v1/delete/${uid}`, undefined, token);
  const exchange = async (proof: string) => parse((await world.raw("POST", "/sts/exchange", undefined, proof)).text);
  const found = async ({ token }: Caller) => textOf(parse((await world.raw("POST", "/iam/v2/groups", { name: "own" }, token)).text).uid);
  const owner = () => builtInRole(world, "owner");

  it("only a user can delete an account, only the own one, and only with a token that is not narrowed", async () => {
    const [ann, bob] = [await world.user(), await world.user()];
    const robot = await world.robot(world.orgUid);
    const refused = [
      await remove(bob.uid, ann.token),
      await remove("0".repeat(40), ann.token),
      await remove("nonsense", ann.token),
      await remove(robot.uid.replace("/", "%2F"), robot.token),
    ];
    for (const answer of refused) assert.ok([403, 404].includes(answer.status), answer.text);
    assert.equal(refused[0]?.text, refused[1]?.text);
    assertRefused(await remove(world.owner.uid, world.owner.token), Code.PERMISSION_DENIED);
    for (const narrowing of [{ cap: ["groups.list"] }, { scopes: [world.orgUid] }]) {
      await world.bind(ann.uid, await builtInRole(world, "viewer"), world.orgUid).catch(() => undefined);
      assertRefused(await remove(ann.uid, (await world.narrow(ann, narrowing)).token), Code.PERMISSION_DENIED);
    }
    for (const { token } of [ann, bob]) assert.equal((await world.raw("GET", "/auth/v1/ok", undefined, token)).status, 200);
  });

  it("deleting an account invalidates its tokens and deletes bindings, refresh tokens and metadata", async () => {
    const proof = await world.proofOf("leaving");
    const user = await world.user("leaving");
    const group = await world.group(world.orgUid);
    const binding = await world.bind(user.uid, await builtInRole(world, "viewer"), group);
    const { refreshToken } = await exchange(proof);
    const metadata = { identityMetadata: { company: "acme" } };
    assert.equal((await world.raw("PATCH", "/iam/v2/identities:updateIdentityMetadata", metadata, user.token)).status, 200);
    const before = parse((await world.raw("GET", `/iam/v2/roleBindings?group=${group}`)).text).totalCount;
    const answer = await remove(user.uid, user.token);
    assert.deepEqual([answer.status, answer.text], [200, "{}"]);
    assert.equal((await world.raw("GET", "/auth/v1/ok", undefined, user.token)).status, 401);
    assertRefused(await remove(user.uid, user.token), Code.UNAUTHENTICATED);
    assertRefused(await world.raw("POST", "/sts/exchange_refresh_token", undefined, textOf(refreshToken)), Code.UNAUTHENTICATED);
    assertRefused(await world.raw("POST", "/sts/exchange", undefined, proof), Code.NOT_FOUND);
    assertAbout(await world.raw("GET", `/iam/v2/roleBindings/${binding}`), Code.NOT_FOUND, "RoleBinding");
    assert.deepEqual([before, parse((await world.raw("GET", `/iam/v2/roleBindings?group=${group}`)).text).totalCount], ["1", "0"]);
    const { reader } = world.store;
    assert.deepEqual(
      await reader.selectFrom("refresh_token").selectAll().where("identity_uid", "=", user.uid).orderBy("token_hash").execute(),
      [],
    );
    assert.deepEqual(await reader.selectFrom("identity_metadata").selectAll().where("uid", "=", user.uid).execute(), []);
  });

  it("a user who registers again after deletion gets the same identity without rights", async () => {
    const user = await world.user("returning");
    const group = await world.group(world.orgUid);
    await world.bind(user.uid, await builtInRole(world, "viewer"), group);
    assert.equal((await remove(user.uid, user.token)).status, 200);
    world.clock.advance(1);
    const again = await world.user("returning");
    assert.equal(again.uid, user.uid);
    assert.equal((await world.raw("GET", "/auth/v1/ok", undefined, again.token)).status, 200);
    // The tokens from before stay void, at the API, in an exchange, and in the registry.
    const registryToken = async (token: string) =>
      world.http("GET", "/token?scope=repository:a/b:pull", undefined, {
        authorization: `Basic ${Buffer.from(`_token:${token}`).toString("base64")}`,
      });
    assert.equal((await registryToken(again.token)).status, 200);
    assert.equal((await registryToken(user.token)).status, 401);
    assert.equal((await world.raw("GET", "/auth/v1/ok", undefined, user.token)).status, 401);
    assertRefused(await world.raw("POST", "/sts/exchange", undefined, user.token), Code.UNAUTHENTICATED);
    assertRefused(await world.raw("GET", `/iam/v2/groups/${group}`, undefined, again.token), Code.PERMISSION_DENIED);
  });

  it("the last owner of an organization cannot delete the account until there is another owner or no organization", async () => {
    const [ann, bob] = [await world.user(), await world.user()];
    const [kept, dropped] = [await found(ann), await found(ann)];
    const { details, message } = assertRefused(await remove(ann.uid, ann.token), Code.FAILED_PRECONDITION);
    assert.equal(details[1]?.violations?.[0]?.type, "LAST_OWNER");
    for (const uid of [kept, dropped]) assert.ok(message.includes(uid));
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${dropped}`, undefined, ann.token)).status, 200);
    // A user who never signed in, and one with fewer rights or rights below only, do not count as owners.
    const bind = async (identityUid: string, roleUid: string, group: string) =>
      world.raw("POST", `/iam/v2/roleBindings/${group}`, { identityUid, roleUid }, ann.token);
    const folder = textOf(parse((await world.raw("POST", `/iam/v2/groups/${kept}`, { name: "folder" }, ann.token)).text).uid);
    for (const answer of [
      await bind(world.userUid("nobody yet"), await owner(), kept),
      await bind(bob.uid, await builtInRole(world, "editor"), kept),
      await bind(bob.uid, await owner(), folder),
    ])
      assert.equal(answer.status, 200, answer.text);
    assertRefused(await remove(ann.uid, ann.token), Code.FAILED_PRECONDITION);
    assert.equal((await bind(bob.uid, await owner(), kept)).status, 200);
    assert.equal((await remove(ann.uid, ann.token)).status, 200);
    assert.equal((await world.raw("GET", `/iam/v2/groups/${kept}`, undefined, bob.token)).status, 200);
  });

  it("one of two owners remains if both delete their accounts at the same time", async () => {
    for (let round = 0; round < 5; round++) {
      const [ann, bob] = [await world.user(), await world.user()];
      const group = await found(ann);
      const body = { identityUid: bob.uid, roleUid: await owner() };
      assert.equal((await world.raw("POST", `/iam/v2/roleBindings/${group}`, body, ann.token)).status, 200);
      await world.join(bob, group);
      const answers = await Promise.all([ann, bob].map(({ uid, token }) => remove(uid, token)));
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400], answers.map(({ text }) => text).join());
    }
  });
});
