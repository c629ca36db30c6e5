import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

describeWithWorld("groups", (world) => {
  const path = "/iam/v2/groups";
  const found = async (body: JsonObject, who: Caller = world.owner) => {
    const answer = await world.raw("POST", path, body, who.token);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const get = async (uid: unknown) => parse((await world.raw("GET", `${path}/${uid}`)).text);
  let organizations = 0;
  /** Names of verified organizations are unique. */
  const verifiedName = () => `org-${++organizations}.example.com`;

  it("must have a name that fits the pattern, and are told so in the documented words", async () => {
    const answer = await world.raw("POST", `${path}/${world.orgUid}`, { description: "no name" });
    assert.equal(answer.status, 400);
    assert.equal(
      answer.text,
      String.raw`{"code":3,"message":"Invalid argument: name: name must match \"^[a-z0-9 ._-]{1,}$\"","details":[` +
        `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_ARGUMENT","domain":"iam.holt.dev"},` +
        String.raw`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"name","description":"name must match \"^[a-z0-9 ._-]{1,}$\""}]}]}`,
    );
  });

  it("may have any name of small letters, digits, spaces, dots, underscores and hyphens", async () => {
    for (const name of ["a", "0", " ", "a b", "._-", "x".repeat(255)]) {
      const answer = await world.raw("POST", `${path}/${world.orgUid}`, { name });
      assert.equal(parse(answer.text).name, name);
    }
    for (const name of ["", "A", "é", "a/b", "a\n", "a\tb", "a:b", "a\u0000", "x".repeat(256)])
      assertInvalid(await world.raw("POST", `${path}/${world.orgUid}`, { name }), "name");
  });

  it("keep a description as it is written, up to 4096 characters", async () => {
    const most = `${"😀\n ".repeat(1365)}x`;
    const made = parse((await world.raw("POST", `${path}/${world.orgUid}`, { name: "a", description: most })).text);
    assert.equal(made.description, most);
    assertInvalid(await world.raw("POST", `${path}/${world.orgUid}`, { name: "a", description: `${most}xx` }), "description");
    assertInvalid(await world.raw("PATCH", `${path}/${textOf(made.uid)}`, { description: `${most}xx` }), "description");
  });

  it("may share their names with their siblings", async () => {
    const group = await world.group(world.orgUid);
    assert.notEqual(await world.group(group, "same"), await world.group(group, "same"));
  });

  it("at the root are organizations, which any user may found and then owns at once", async () => {
    const user = await world.user();
    for (const slash of ["", "/"]) {
      const answer = await world.raw("POST", path + slash, { name: "founded" }, user.token);
      const { uid } = parse(answer.text);
      assert.match(textOf(uid), /^[0-9a-f]{40}$/);
      assert.equal((await world.raw("POST", `${path}/${uid}`, { name: "folder" }, user.token)).status, 200);
      const { roleBindings } = parse((await world.raw("GET", `/iam/v2/roleBindings?group=${uid}`, undefined, user.token)).text);
      const [binding, ...more] = roleBindings as { identityUid: string; role: { name: string } }[];
      assert.deepEqual([binding?.identityUid, binding?.role.name, more], [user.uid, "owner", []]);
    }
    const overGrpc = answerOf(await world.grpc.call(GroupsService.method.createGroup, { group: { name: "founded" } }, user.token));
    assert.match(overGrpc.uid, /^[0-9a-f]{40}$/);
  });

  it("at the root are told as one event, without one for the owner's binding", async () => {
    const events = () => world.store.reader.selectFrom("outbox").select("type").execute();
    const before = (await events()).length;
    await found({ name: "founded" });
    assert.deepEqual(
      (await events()).slice(before).map(({ type }) => type),
      ["dev.holt.api.iam.group.created.v1"],
    );
  });

  it("at the root are not for identities that were made in a group", async () => {
    const robot = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_CREATE]);
    assertRefused(await world.raw("POST", path, { name: "founded" }, robot.token), Code.PERMISSION_DENIED);
  });

  it("find their parent by its uid, by either end of it, or by its name", async () => {
    const parent = await world.group(world.orgUid, "the only one of this name");
    const [, last = ""] = parent.split("/");
    const org = await world.user().then((user) => found({ name: "elsewhere" }, user));
    for (const text of [parent, last, last.slice(-10), parent.slice(41), parent.slice(0, -3), "the%20only%20one%20of%20this%20name"]) {
      const made = parse((await world.raw("POST", `${path}/${text}`, { name: "child" })).text);
      assert.ok(textOf(made.uid).startsWith(`${parent}/`), `${text}: ${JSON.stringify(made)}`);
      await world.raw("DELETE", `${path}/${textOf(made.uid)}`);
    }
    assertRefused(await world.raw("POST", `${path}/${org.uid}`, { name: "child" }), Code.PERMISSION_DENIED);
  });

  it("are not made where the parent's name means two groups, none, or one that the caller cannot see", async () => {
    for (let i = 0; i < 2; i++) await world.group(world.orgUid, "twins");
    assertInvalid(await world.raw("POST", `${path}/twins`, { name: "child" }), "parent");
    assertInvalid(await world.raw("POST", `${path}/${world.orgUid.slice(0, 10)}`, { name: "child" }), "parent");
    assertAbout(await world.raw("POST", `${path}/nothing of the kind`.replaceAll(" ", "%20"), { name: "child" }), Code.NOT_FOUND, "Group");
    const stranger = await world.user();
    await found({ name: "hidden" }, stranger);
    assertAbout(await world.raw("POST", `${path}/hidden`, { name: "child" }), Code.NOT_FOUND, "Group");
    // What is hidden does not make a name ambiguous either.
    const seen = await world.group(world.orgUid, "hidden");
    const made = parse((await world.raw("POST", `${path}/hidden`, { name: "child" })).text);
    assert.ok(textOf(made.uid).startsWith(`${seen}/`));
  });

  it("need groups.create at a parent that is found by name", async () => {
    const parent = await world.group(world.orgUid, "named parent");
    const lister = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    assertRefused(await world.raw("POST", `${path}/named%20parent`, { name: "child" }, lister.token), Code.PERMISSION_DENIED);
    assert.deepEqual(parse((await world.raw("GET", `${path}?uidp.childrenOf=${parent}`)).text).groups, []);
  });

  it("are not deleted while they have child groups, then while they have other children, and say which", async () => {
    const group = await world.group(world.orgUid);
    const uri = `${path}/${group}`;
    const child = await world.group(group);
    const claimMatch = { issuer: "https://issuer.example.com", subject: "s" };
    const identity = textOf(parse((await world.raw("POST", `/iam/v2/identities/${group}`, { name: "a", claimMatch })).text).uid);
    const role = await world.role(group, [Capability.CAP_REPO_LIST]);
    const refuse = async (what: string) =>
      assertPrecondition(await world.raw("DELETE", uri), "RESOURCE_NOT_EMPTY", `cannot delete group with ${what}`);
    await refuse("child groups");
    await world.raw("DELETE", `${path}/${child}`);
    await refuse("child resources");
    await world.raw("DELETE", `/iam/v2/identities/${identity}`);
    await refuse("child resources");
    await world.raw("DELETE", `/iam/v2/roles/${role}`);
    const deleted = await world.raw("DELETE", uri);
    assert.deepEqual([deleted.status, deleted.text], [200, ""]);
    assertAbout(await world.raw("DELETE", uri), Code.NOT_FOUND, "Group", group);
  });

  it("take their bindings with them", async () => {
    const group = await world.group(world.orgUid);
    const user = await world.user();
    const binding = await world.bind(user.uid, await builtInRole(world, "viewer"), group);
    assert.equal((await world.raw("DELETE", `${path}/${group}`)).status, 200);
    assertAbout(await world.raw("GET", `/iam/v2/roleBindings/${binding}`), Code.NOT_FOUND, "RoleBinding");
    const left = parse((await world.raw("GET", `/iam/v2/roleBindings?identity=${user.uid}`)).text);
    assert.deepEqual([left.roleBindings, left.totalCount], [[], "0"]);
  });

  it("are verified by staff only; a false that echoes the default asks for nothing", async () => {
    const user = await world.user();
    const body = { name: verifiedName(), verified: true, kind: "ORG_KIND_CUSTOMER" };
    assertRefused(await world.raw("POST", path, body, user.token), Code.PERMISSION_DENIED);
    assertRefused(await world.raw("POST", path, { name: "a", kind: "ORG_KIND_CUSTOMER" }, user.token), Code.PERMISSION_DENIED);
    const plain = await found({ name: "plain", verified: false, kind: "ORG_KIND_UNSPECIFIED" }, user);
    assert.deepEqual([plain.verified, plain.kind, plain.status], [false, "ORG_KIND_UNSPECIFIED", "ORG_STATUS_UNSPECIFIED"]);
    assertRefused(await world.raw("PATCH", `${path}/${plain.uid}`, { verified: true }, user.token), Code.PERMISSION_DENIED);
    const verified = await found(body);
    assert.deepEqual([verified.verified, verified.kind, verified.status], [true, "ORG_KIND_CUSTOMER", "ORG_STATUS_READY"]);
  });

  it("that are verified have a kind, and others have none", async () => {
    assertInvalid(await world.raw("POST", path, { name: verifiedName(), verified: true }), "kind");
    assertInvalid(await world.raw("POST", path, { name: verifiedName(), kind: "ORG_KIND_DEV" }), "kind");
  });

  it("that are verified have a name that no other verified one has, for ever", async () => {
    const name = verifiedName();
    const body = { name, verified: true, kind: "ORG_KIND_CUSTOMER" };
    const { uid } = await found(body);
    assertAbout(await world.raw("POST", path, body), Code.ALREADY_EXISTS, "Group");
    await found({ name });
    assertPrecondition(
      await world.raw("PATCH", `${path}/${uid}`, { name: "other" }),
      "ORGANIZATION_VERIFIED",
      "cannot rename a verified organization",
    );
    assert.equal((await get(uid)).name, name);
  });

  it("that are verified let their owners change the rest, with what they echo of the staff's fields", async () => {
    const made = await found({ name: verifiedName(), verified: true, kind: "ORG_KIND_CUSTOMER" });
    const user = await world.user();
    await world.must(GroupsService.method.getGroup, { uid: textOf(made.uid) });
    await world.bind(user.uid, await builtInRole(world, "owner"), textOf(made.uid));
    const patch = (query: string, body: JsonObject) => world.raw("PATCH", `${path}/${made.uid}${query}`, body, user.token);
    const described = parse((await patch("?updateMask=name,description,verified", { ...made, description: "new" })).text);
    assert.deepEqual(described, { ...made, description: "new", updateTime: described.updateTime });
    // Clients that do not know the field send its default.
    assert.equal(parse((await patch("?updateMask=verified", { verified: false })).text).verified, true);
    assertRefused(await patch("", { kind: "ORG_KIND_DEV" }), Code.PERMISSION_DENIED);
    assertInvalid(await patch("?updateMask=*", made), "update_mask");
  });

  it("in a verified organization have its kind and status, now and after it changes, and cannot set them", async () => {
    const org = await found({ name: verifiedName(), verified: true, kind: "ORG_KIND_CUSTOMER" });
    const folder = await world.group(textOf(org.uid));
    const deep = await world.group(folder);
    const outside = await world.group(world.orgUid);
    const kinds = async () => Promise.all([folder, deep, outside].map(async (uid) => (await get(uid)).kind));
    assert.deepEqual(await kinds(), ["ORG_KIND_CUSTOMER", "ORG_KIND_CUSTOMER", "ORG_KIND_UNSPECIFIED"]);
    assert.equal((await get(deep)).status, "ORG_STATUS_READY");
    assert.equal((await get(deep)).verified, false);
    const before = await get(deep);
    assert.equal((await world.raw("PATCH", `${path}/${org.uid}`, { kind: "ORG_KIND_AWS_MARKETPLACE" })).status, 200);
    assert.deepEqual(await kinds(), ["ORG_KIND_AWS_MARKETPLACE", "ORG_KIND_AWS_MARKETPLACE", "ORG_KIND_UNSPECIFIED"]);
    assert.deepEqual(await get(deep), { ...before, kind: "ORG_KIND_AWS_MARKETPLACE" });
    assertInvalid(await world.raw("PATCH", `${path}/${folder}`, { kind: "ORG_KIND_DEV" }), "kind");
    assertInvalid(await world.raw("PATCH", `${path}/${folder}`, { verified: true }), "verified");
    assertInvalid(await world.raw("POST", `${path}/${org.uid}`, { name: "a", verified: true }), "verified");
    assertInvalid(await world.raw("POST", `${path}/${org.uid}`, { name: "a", kind: "ORG_KIND_DEV" }), "kind");
    assertInvalid(await world.raw("PATCH", `${path}/${folder}?updateMask=*`, { name: "renamed" }), "update_mask");
    assert.equal(parse((await world.raw("PATCH", `${path}/${folder}`, { name: "renamed" })).text).name, "renamed");
  });

  it("lose kind and status with their verification, and give the name free", async () => {
    const name = verifiedName();
    const body = { name, verified: true, kind: "ORG_KIND_CUSTOMER" };
    const { uid } = await found(body);
    const folder = await world.group(textOf(uid));
    const after = parse((await world.raw("PATCH", `${path}/${uid}`, { verified: false })).text);
    assert.deepEqual([after.verified, after.kind, after.status], [false, "ORG_KIND_UNSPECIFIED", "ORG_STATUS_UNSPECIFIED"]);
    assert.equal((await get(folder)).kind, "ORG_KIND_UNSPECIFIED");
    await found(body);
  });

  it("can be verified by a holder of the internal capability, but not with a token narrowed to something else", async () => {
    const internal = await world.user();
    await world.bind(
      internal.uid,
      await world.role(world.orgUid, [Capability.CAP_INTERNAL, Capability.CAP_IAM_GROUPS_UPDATE]),
      world.orgUid,
    );
    const body = { verified: true, kind: "ORG_KIND_INFRA" };
    const narrow = await world.narrow(world.owner, { cap: ["groups.update"] });
    assertRefused(await world.raw("PATCH", `${path}/${world.orgUid}`, body, narrow.token), Code.PERMISSION_DENIED);
    assert.equal((await world.raw("PATCH", `${path}/${world.orgUid}`, body, internal.token)).status, 200);
    assert.equal((await world.raw("PATCH", `${path}/${world.orgUid}`, { verified: false }, internal.token)).status, 200);
  });
});
