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
  /** Makes names unique, as verified organizations need. */
  const verifiedName = () => `org-${++organizations}.example.com`;

  it("a group must have a name that fits the pattern, and the error has the documented text", async () => {
    const answer = await world.raw("POST", `${path}/${world.orgUid}`, { description: "no name" });
    assert.equal(answer.status, 400);
    assert.equal(
      answer.text,
      String.raw`{"code":3,"message":"Invalid argument: name: name must match \"^[a-z0-9 ._-]{1,}$\"","details":[` +
        `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_ARGUMENT","domain":"iam.holt.dev"},` +
        String.raw`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"name","description":"name must match \"^[a-z0-9 ._-]{1,}$\""}]}]}`,
    );
  });

  it("a group name may have small letters, digits, spaces, dots, underscores and hyphens", async () => {
    for (const name of ["a", "0", " ", "a b", "._-", "x".repeat(255)]) {
      const answer = await world.raw("POST", `${path}/${world.orgUid}`, { name });
      assert.equal(parse(answer.text).name, name);
    }
    for (const name of ["", "A", "é", "a/b", "a\n", "a\tb", "a:b", "a\u0000", "x".repeat(256)])
      assertInvalid(await world.raw("POST", `${path}/${world.orgUid}`, { name }), "name");
  });

  it("a group keeps its description as written, up to 4096 characters", async () => {
    const most = `${"😀\n ".repeat(1365)}x`;
    const made = parse((await world.raw("POST", `${path}/${world.orgUid}`, { name: "a", description: most })).text);
    assert.equal(made.description, most);
    assertInvalid(await world.raw("POST", `${path}/${world.orgUid}`, { name: "a", description: `${most}xx` }), "description");
    assertInvalid(await world.raw("PATCH", `${path}/${textOf(made.uid)}`, { description: `${most}xx` }), "description");
  });

  it("a group may have the name of a sibling", async () => {
    const group = await world.group(world.orgUid);
    assert.notEqual(await world.group(group, "same"), await world.group(group, "same"));
  });

  it("any user may create an organization and is its owner at once", async () => {
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

  it("creating an organization emits one event, without another for the owner's binding", async () => {
    const events = () => world.store.reader.selectFrom("outbox").select("type").orderBy("seq").execute();
    const before = (await events()).length;
    await found({ name: "founded" });
    assert.deepEqual(
      (await events()).slice(before).map(({ type }) => type),
      ["dev.holt.api.iam.group.created.v1"],
    );
  });

  it("an identity of a group cannot create an organization", async () => {
    const robot = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_CREATE]);
    assertRefused(await world.raw("POST", path, { name: "founded" }, robot.token), Code.PERMISSION_DENIED);
  });

  it("a new group's parent is found by its uid, by either end of the uid, or by its name", async () => {
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

  it("a group is not created if the parent's name is ambiguous, unknown or invisible to the caller", async () => {
    for (let i = 0; i < 2; i++) await world.group(world.orgUid, "twins");
    assertInvalid(await world.raw("POST", `${path}/twins`, { name: "child" }), "parent");
    assertInvalid(await world.raw("POST", `${path}/${world.orgUid.slice(0, 10)}`, { name: "child" }), "parent");
    assertAbout(await world.raw("POST", `${path}/nothing of the kind`.replaceAll(" ", "%20"), { name: "child" }), Code.NOT_FOUND, "Group");
    const stranger = await world.user();
    await found({ name: "hidden" }, stranger);
    assertAbout(await world.raw("POST", `${path}/hidden`, { name: "child" }), Code.NOT_FOUND, "Group");
    // A hidden group does not make a name ambiguous.
    const seen = await world.group(world.orgUid, "hidden");
    const made = parse((await world.raw("POST", `${path}/hidden`, { name: "child" })).text);
    assert.ok(textOf(made.uid).startsWith(`${seen}/`));
  });

  it("creating a group needs groups.create at a parent found by name", async () => {
    const parent = await world.group(world.orgUid, "named parent");
    const lister = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    assertRefused(await world.raw("POST", `${path}/named%20parent`, { name: "child" }, lister.token), Code.PERMISSION_DENIED);
    assert.deepEqual(parse((await world.raw("GET", `${path}?uidp.childrenOf=${parent}`)).text).groups, []);
  });

  it("a group with child groups or other children cannot be deleted, and the error names them", async () => {
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

  it("deleting a group deletes its bindings", async () => {
    const group = await world.group(world.orgUid);
    const user = await world.user();
    const binding = await world.bind(user.uid, await builtInRole(world, "viewer"), group);
    assert.equal((await world.raw("DELETE", `${path}/${group}`)).status, 200);
    assertAbout(await world.raw("GET", `/iam/v2/roleBindings/${binding}`), Code.NOT_FOUND, "RoleBinding");
    const left = parse((await world.raw("GET", `/iam/v2/roleBindings?identity=${user.uid}`)).text);
    assert.deepEqual([left.roleBindings, left.totalCount], [[], "0"]);
  });

  it("only staff can verify an organization, and a false that repeats the default is ignored", async () => {
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

  it("a verified organization has a kind, and an unverified one has none", async () => {
    assertInvalid(await world.raw("POST", path, { name: verifiedName(), verified: true }), "kind");
    assertInvalid(await world.raw("POST", path, { name: verifiedName(), kind: "ORG_KIND_DEV" }), "kind");
    assertInvalid(await world.raw("POST", path, { name: verifiedName(), verified: true, kind: 77 }), "kind");
  });

  it("the name of a verified organization is unique among verified organizations", async () => {
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

  it("owners of a verified organization can change the rest while repeating the staff's fields", async () => {
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

  it("a group in a verified organization inherits kind and status and cannot set them", async () => {
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

  it("an organization that loses its verification loses kind and status, and frees its name", async () => {
    const name = verifiedName();
    const body = { name, verified: true, kind: "ORG_KIND_CUSTOMER" };
    const { uid } = await found(body);
    const folder = await world.group(textOf(uid));
    const after = parse((await world.raw("PATCH", `${path}/${uid}`, { verified: false })).text);
    assert.deepEqual([after.verified, after.kind, after.status], [false, "ORG_KIND_UNSPECIFIED", "ORG_STATUS_UNSPECIFIED"]);
    assert.equal((await get(folder)).kind, "ORG_KIND_UNSPECIFIED");
    await found(body);
  });

  it("a holder of the internal capability can verify an organization, but not with a token narrowed to something else", async () => {
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
