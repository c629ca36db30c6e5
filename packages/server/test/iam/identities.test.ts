import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentitiesService, RelationshipType } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const RELATIONSHIPS = ["claimMatch", "staticKeys", "awsIdentity", "servicePrincipal"];
const claimMatch = { issuer: "https://issuer.example.com", subject: "s" };
const staticKeys = { issuer: "https://issuer.example.com", subject: "s", issuerKeys: "keys" };
const awsIdentity = { awsAccount: "012345678901", arn: "bar", userId: "foo" };

describeWithWorld("identities", (world) => {
  const path = "/iam/v2/identities";
  const post = (body: JsonObject) => world.raw("POST", `${path}/${world.orgUid}`, { name: "robot", ...body });
  const make = async (body: JsonObject): Promise<JsonObject> => {
    const answer = await post(body);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const patch = (uid: unknown, body: JsonObject, query = "") => world.raw("PATCH", `${path}/${uid}${query}`, body);
  const list = async (query: string, who: Caller = world.owner) =>
    parse((await world.raw("GET", `${path}?page_size=200&${query}`, undefined, who.token)).text).identities as JsonObject[];
  const uids = (identities: readonly JsonObject[]) => identities.map(({ uid }) => textOf(uid)).toSorted();

  it("an empty identity is rejected for its name only, with the documented message", async () => {
    const answer = await world.raw("POST", `${path}/${world.orgUid}`, {});
    assertInvalid(answer, "name");
    assert.equal(parse(answer.text).message, 'Invalid argument: name: name must match "^[a-z0-9 ._-]{1,}$"');
  });

  it("an identity needs exactly one relationship", async () => {
    assertInvalid(await post({}), "relationship");
    assertInvalid(await post({ servicePrincipal: "SERVICE_PRINCIPAL_UNSPECIFIED" }), "relationship");
    assertRefused(await post({ claimMatch, staticKeys }), Code.INVALID_ARGUMENT);
  });

  it("the error lists everything that is wrong with a relationship", async () => {
    assertInvalid(await post({ claimMatch: {} }), "claim_match.issuer", "claim_match.subject");
    assertInvalid(await post({ staticKeys: {} }), "static_keys.issuer", "static_keys.subject", "static_keys.issuer_keys");
    assertInvalid(await post({ awsIdentity: {} }), "aws_identity.aws_account", "aws_identity.arn", "aws_identity.user_id");
    const description = "x".repeat(4097);
    assertInvalid(await post({ description, claimMatch: { ...claimMatch, subject: "" } }), "description", "claim_match.subject");
  });

  it("a claim match accepts an https issuer, or an http issuer on this machine", async () => {
    for (const issuer of ["https://accounts.google.com", "https://issuer.example.com/", "http://localhost:8080", "http://127.0.0.1"])
      assert.equal(((await make({ claimMatch: { issuer, subject: "s" } })).claimMatch as JsonObject).issuer, issuer);
    for (const issuer of [
      "http://issuer.example.com",
      "issuer.example.com",
      "ftp://localhost",
      "https://user:password@issuer.example.com",
      "http://127.0.0.1.example.com",
    ])
      assertInvalid(await post({ claimMatch: { issuer, subject: "s" } }), "claim_match.issuer");
  });

  it("a claim match accepts patterns that compile, such as the documented ones", async () => {
    const pattern = "{%uuid%}:.+";
    const made = await make({
      claimMatch: { issuerPattern: ".*", subjectPattern: pattern, audiencePattern: ".*", claimPatterns: { a: "b|c" } },
    });
    assert.equal((made.claimMatch as JsonObject).subjectPattern, pattern);
    const broken = { issuerPattern: "(", subjectPattern: "[", audiencePattern: "*", claimPatterns: { a: "(?P<" } };
    assertInvalid(
      await post({ claimMatch: broken }),
      "claim_match.issuer_pattern",
      "claim_match.subject_pattern",
      "claim_match.audience_pattern",
      "claim_match.claim_patterns.a",
    );
  });

  it("static keys expire after 365 days at most, and by default", async () => {
    const expiryOf = (identity: JsonObject) => (identity.staticKeys as JsonObject).expirationTime;
    const after = (ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
    assert.equal(expiryOf(await make({ staticKeys })), after(365 * DAY));
    for (const ms of [1, 3 * 60 * 60 * 1000, 365 * DAY])
      assert.equal(expiryOf(await make({ staticKeys: { ...staticKeys, expirationTime: after(ms) } })), after(ms));
    for (const ms of [365 * DAY + 1, 0, -1])
      assertInvalid(await post({ staticKeys: { ...staticKeys, expirationTime: after(ms) } }), "static_keys.expiration_time");
  });

  it("an update extends static keys beyond 365 days after creation only with new keys", async () => {
    const before = (ms: number) => new Date(world.clock.now().getTime() - ms).toISOString();
    const expiryOf = (text: string) => (parse(text).staticKeys as JsonObject).expirationTime;
    const update = (uid: unknown, expirationTime: string) => patch(uid, { staticKeys: { expirationTime } });
    const replace = (uid: unknown) => patch(uid, { staticKeys }, "?updateMask=static_keys");
    // The tokens of a test do not last for days, so the identities are made older.
    const created = async (ms: number, relationship: JsonObject) => {
      const { uid } = await make(relationship);
      const { body } = await world.store.reader
        .selectFrom("identity")
        .select("body")
        .where("uid", "=", textOf(uid))
        .executeTakeFirstOrThrow();
      const older = JSON.stringify({
        ...parse(body),
        createTime: before(ms),
        ...(relationship.staticKeys !== undefined && { staticKeys: { ...staticKeys, expirationTime: before(-1000) } }),
      });
      await world.store.transaction((db) => db.updateTable("identity").set({ body: older }).where("uid", "=", textOf(uid)).execute());
      return uid;
    };
    const young = await created(200 * DAY, { staticKeys });
    assertInvalid(await update(young, before(-165 * DAY - 1)), "static_keys.expiration_time");
    assert.equal(expiryOf((await update(young, before(-165 * DAY))).text), before(-165 * DAY));
    assert.equal(expiryOf((await replace(young)).text), before(-165 * DAY));
    const old = await created(400 * DAY, { staticKeys });
    assertInvalid(await update(old, before(-2000)), "static_keys.expiration_time");
    assert.equal(expiryOf((await replace(old)).text), before(-1000));
    // New keys have 365 days from the update that stores them.
    const rotated = await patch(
      old,
      { staticKeys: { issuerKeys: "new keys" } },
      "?updateMask=static_keys.issuer_keys,static_keys.expiration_time",
    );
    assert.equal(expiryOf(rotated.text), before(-365 * DAY));
    const changed = await created(400 * DAY, { claimMatch });
    for (let i = 0; i < 2; i++) assert.equal(expiryOf((await replace(changed)).text), before(-365 * DAY));
  });

  it("an identity with expired static keys can be changed, but not to another time in the past", async () => {
    const expirationTime = new Date(world.clock.now().getTime() + 1000).toISOString();
    const made = await make({ staticKeys: { ...staticKeys, expirationTime } });
    world.clock.advance(2000);
    const renamed = await patch(made.uid, { ...made, name: "renamed" }, "?updateMask=*");
    assert.equal(renamed.status, 200, renamed.text);
    assert.equal((parse(renamed.text).staticKeys as JsonObject).expirationTime, expirationTime);
    const past = new Date(world.clock.now().getTime() - 1).toISOString();
    assertInvalid(await patch(made.uid, { staticKeys: { expirationTime: past } }), "static_keys.expiration_time");
  });

  it("static keys have at most one audience, and their keys may be any string", async () => {
    await make({ staticKeys: { ...staticKeys, audiences: ["one"] } });
    assertInvalid(await post({ staticKeys: { ...staticKeys, audiences: ["one", "two"] } }), "static_keys.audiences");
  });

  it("an AWS identity has an account of twelve digits, and an ARN and a user id of any form or pattern", async () => {
    await make({ awsIdentity });
    await make({ awsIdentity: { awsAccount: "012345678901", arnPattern: "arn:.*", userIdPattern: ".*" } });
    for (const awsAccount of ["01234567890", "0123456789012", "01234567890a", ""])
      assertInvalid(await post({ awsIdentity: { ...awsIdentity, awsAccount } }), "aws_identity.aws_account");
    const broken = { awsAccount: "012345678901", arnPattern: "(", userIdPattern: "(" };
    assertInvalid(await post({ awsIdentity: broken }), "aws_identity.arn_pattern", "aws_identity.user_id_pattern");
    assertInvalid(await post({ awsIdentity: { awsAccount: "012345678901", arn: "" } }), "aws_identity.arn", "aws_identity.user_id");
  });

  it("an identity's service principal must be a known one", async () => {
    assert.equal((await make({ servicePrincipal: 2 })).servicePrincipal, "SERVICE_PRINCIPAL_INGESTER");
    assertRefused(await post({ servicePrincipal: "SERVICE_PRINCIPAL_NOBODY" }), Code.INVALID_ARGUMENT);
    const identity = { name: "a", relationship: { case: "servicePrincipal", value: 99 as never } } as const;
    const outcome = await world.grpc.call(IdentitiesService.method.createIdentity, { parent: world.orgUid, identity }, world.owner.token);
    assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT);
  });

  it("an identity can change from any relationship to any other and then has only that one", async () => {
    const { uid } = await make({ claimMatch });
    const kinds: readonly JsonObject[] = [
      { servicePrincipal: "SERVICE_PRINCIPAL_COSIGNED" },
      { staticKeys },
      { awsIdentity },
      { claimMatch },
    ];
    for (const relationship of [...kinds.toReversed(), ...kinds]) {
      for (const query of ["", "?updateMask=*"]) {
        const changed = parse((await patch(uid, { name: "robot", ...relationship }, query)).text);
        assert.deepEqual(
          RELATIONSHIPS.filter((key) => key in changed),
          Object.keys(relationship),
        );
        const [listed] = await list(`uidp.ids=${textOf(uid)}`);
        assert.deepEqual(listed, changed);
      }
    }
    assertInvalid(await patch(uid, { name: "robot" }, "?updateMask=*"), "relationship");
    assertInvalid(await patch(uid, {}, "?updateMask=claimMatch"), "relationship");
    assert.deepEqual(parse((await world.raw("GET", `${path}/${uid}`)).text).claimMatch, { ...claimMatch, claims: {}, claimPatterns: {} });
  });

  it("an identity can change from exact values to patterns and back", async () => {
    const { uid } = await make({ claimMatch: { ...claimMatch, audience: "a" } });
    const patterns = { issuerPattern: "https://.*", subjectPattern: "s.*", audiencePattern: "a.*" };
    const matchOf = async (body: JsonObject) => parse((await patch(uid, { claimMatch: body })).text).claimMatch;
    assert.deepEqual(await matchOf(patterns), { ...patterns, claims: {}, claimPatterns: {} });
    assert.deepEqual(await matchOf(claimMatch), { ...claimMatch, audiencePattern: "a.*", claims: {}, claimPatterns: {} });
  });

  it("two identities of a group may have the same relationship", async () => {
    assert.notEqual((await make({ claimMatch })).uid, (await make({ claimMatch })).uid);
  });

  it("identities are listed by the kind of their relationship", async () => {
    const group = await world.group(world.orgUid);
    const made = new Map<string, string>();
    for (const relationship of [{ claimMatch }, { staticKeys }, { awsIdentity }, { servicePrincipal: 1 }]) {
      const answer = await world.raw("POST", `${path}/${group}`, { name: "robot", ...relationship });
      made.set(Object.keys(relationship)[0] ?? "", textOf(parse(answer.text).uid));
    }
    const filtered = (type: string) => list(`uidp.childrenOf=${group}&relationship_type=${type}`);
    for (const [i, name] of ["CLAIM_MATCH", "STATIC", "AWS_IDENTITY", "SERVICE_PRINCIPAL"].entries()) {
      const expected = [made.get(RELATIONSHIPS[i] ?? "")];
      assert.deepEqual(uids(await filtered(`RELATIONSHIP_TYPE_${name}`)), expected);
      assert.deepEqual(uids(await filtered(String(RelationshipType[name as keyof typeof RelationshipType]))), expected);
    }
    assert.equal((await filtered("RELATIONSHIP_TYPE_UNSPECIFIED")).length, 4);
    // The filter follows a change of the relationship.
    await patch(made.get("claimMatch"), { staticKeys });
    assert.equal((await filtered("RELATIONSHIP_TYPE_STATIC")).length, 2);
    assert.equal((await filtered("RELATIONSHIP_TYPE_CLAIM_MATCH")).length, 0);
  });

  it("an identity's last-seen time is set at creation and at each exchange, without counting as an update", async () => {
    const robot = await world.robot(world.orgUid);
    const get = async () => parse((await world.raw("GET", `${path}/${robot.uid}`)).text);
    const first = await get();
    world.clock.advance(5000);
    await world.signIn(robot.uid);
    assert.deepEqual(await get(), { ...first, lastSeenTime: world.clock.now().toISOString() });
    const made = await make({ claimMatch });
    assert.equal(made.lastSeenTime, made.createTime);
  });

  it("deleting an identity deletes all its bindings", async () => {
    const robot = await world.robot(world.orgUid);
    const group = await world.group(world.orgUid);
    const viewer = await builtInRole(world, "viewer");
    for (const at of [world.orgUid, group]) await world.bind(robot.uid, viewer, at);
    assert.equal((await world.raw("DELETE", `${path}/${robot.uid}`)).status, 200);
    const left = parse((await world.raw("GET", `/iam/v2/roleBindings?identity=${robot.uid}`)).text);
    assert.deepEqual([left.roleBindings, left.totalCount], [[], "0"]);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`)).status, 200);
  });

  it("a user's identity is in root and has the email that the issuer sent", async () => {
    const user = await world.user("someone");
    assert.match(user.uid, /^[0-9a-f]{40}$/);
    const self = parse((await world.raw("GET", `${path}/${user.uid}`, undefined, user.token)).text);
    assert.deepEqual(self.claimMatch, { issuer: world.issuer, subject: "someone", claims: {}, claimPatterns: {} });
    assert.deepEqual([self.email, self.emailUnverified], ["", ""]);
  });

  it("a user is visible to itself and, once it has joined, to callers that may list identities where it is bound", async () => {
    const [user, colleague] = [await world.user(), await world.user()];
    const group = await world.group(world.orgUid);
    const lister = await world.robot(group, [Capability.CAP_IAM_IDENTITY_LIST]);
    const elsewhere = await world.robot(await world.group(world.orgUid), [Capability.CAP_IAM_IDENTITY_LIST]);
    const sees = async (who: Caller) => {
      const { status } = await world.raw("GET", `${path}/${user.uid}`, undefined, who.token);
      const listed = (await list(`uidp.ids=${user.uid}`, who)).length === 1;
      assert.equal(status, listed ? 200 : 403);
      return listed;
    };
    const all = () => Promise.all([user, colleague, lister, elsewhere].map(sees));
    assert.deepEqual(await all(), [true, false, false, false]);
    const binding = await world.bind(user.uid, await builtInRole(world, "registry.pull"), group);
    assert.deepEqual(await all(), [true, false, false, false]);
    await world.join(user, group);
    assert.deepEqual(await all(), [true, false, true, false]);
    await world.raw("DELETE", `/iam/v2/roleBindings/${binding}`);
    assert.deepEqual(await all(), [true, false, false, false]);
    for (const method of ["PATCH", "DELETE"])
      assertRefused(await world.raw(method, `${path}/${user.uid}`, {}, user.token), Code.PERMISSION_DENIED);
  });

  it("a user's identity uid can be looked up before the first sign-in", async () => {
    const nobody = await world.robot(world.orgUid);
    const lookUp = (issuer: string, subject: string) =>
      world.raw("GET", `${path}:lookupIdentity?${new URLSearchParams({ issuer, subject })}`, undefined, nobody.token);
    const uidOf = async (issuer: string, subject: string) => textOf(parse((await lookUp(issuer, subject)).text).uid);
    const future = await uidOf(world.issuer, "not yet");
    assert.equal(future, world.userUid("not yet"));
    assert.equal(await uidOf(world.issuer, "not yet"), future);
    const group = await world.group(world.orgUid);
    await world.bind(future, await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]), group);
    const user = await world.user("not yet");
    assert.equal(user.uid, future);
    assert.equal((await world.raw("GET", `/iam/v2/groups/${group}`, undefined, user.token)).status, 200);
    assert.notEqual(await uidOf(world.issuer, "another"), future);
    assert.notEqual(await uidOf(`${world.issuer}/`, "not yet"), future);
    assert.equal(await uidOf("accounts.google.com", "1"), await uidOf("https://accounts.google.com", "1"));
    assertInvalid(await lookUp(world.issuer, ""), "subject");
    assertInvalid(await lookUp("", "s"), "issuer");
  });

  it("only an identity itself can change its metadata, which has names from its issuer and one value that is not stored", async () => {
    const user = await world.user();
    const other = await world.user();
    const update = async (identityMetadata: JsonObject, updateMask = "", who = user) => {
      const body = updateMask === "" ? { identityMetadata } : { identityMetadata, updateMask };
      const answer = await world.raw("PATCH", `${path}:updateIdentityMetadata`, body, who.token);
      assert.equal(answer.status, 200, answer.text);
      return parse(answer.text);
    };
    const first = await update({ uid: other.uid, name: "forged", company: "acme", jobTitle: "tester", hubspotUtk: "secret" });
    assert.deepEqual([first.uid, first.name, first.company, first.jobTitle, first.hubspotUtk], [user.uid, "", "acme", "tester", "secret"]);
    const second = await update({ company: "other", jobTitle: "not this" }, "company");
    assert.deepEqual([second.company, second.jobTitle, second.hubspotUtk], ["other", "tester", ""]);
    const third = await update({ updatesOptIn: true });
    assert.deepEqual([third.company, third.jobTitle, third.updatesOptIn], ["other", "tester", true]);
    for (const path of ["jobTitle", "job_title"]) {
      const request = { identityMetadata: { jobTitle: path }, updateMask: { paths: [path] } };
      const changed = answerOf(await world.grpc.call(IdentitiesService.method.updateIdentityMetadata, request, user.token));
      assert.deepEqual([changed.company, changed.jobTitle], ["other", path]);
    }
    assert.equal((await update({}, "", other)).company, "");
    const stored = await world.store.reader.selectFrom("identity_metadata").select("body").where("uid", "=", user.uid).execute();
    assert.ok(!JSON.stringify(stored).includes("secret"));
    for (const name of ["company", "hubspotUtk"])
      assertInvalid(
        await world.raw("PATCH", `${path}:updateIdentityMetadata`, { identityMetadata: { [name]: "a".repeat(16_385) } }, user.token),
        "identity_metadata",
      );
    const narrowed = await world.narrow(user, { cap: ["groups.list"] });
    const body = { identityMetadata: { company: "mine" } };
    assertRefused(await world.raw("PATCH", `${path}:updateIdentityMetadata`, body, narrowed.token), Code.PERMISSION_DENIED);
  });
});
