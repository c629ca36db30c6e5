import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid, uidFromText } from "../../src/lib/uid.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertAbout, assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { CAP_REPO_LIST, CAP_REPO_UPDATE, CAP_IAM_ROLE_BINDINGS_CREATE, CAP_IAM_ROLE_BINDINGS_UPDATE } = Capability;

describeWithWorld("role bindings", (world) => {
  const path = "/iam/v2/roleBindings";
  const post = (group: string, body: JsonObject, token?: string) => world.raw("POST", `${path}/${group}`, body, token);
  const bind = async (group: string, identityUid: string, roleUid: string): Promise<JsonObject> => {
    const answer = await post(group, { identityUid, roleUid });
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const get = async (uid: unknown) => parse((await world.raw("GET", `${path}/${uid}`)).text);
  const identity = async (group: string, body: JsonObject) => {
    const answer = await world.raw("POST", `/iam/v2/identities/${group}`, { name: "robot", description: "A robot", ...body });
    return textOf(parse(answer.text).uid);
  };
  let people = 0;
  const somebody = () => uidFromText(`somebody ${++people}`);

  it("a role binding needs the uids of an identity and a role, and embedded objects are ignored", async () => {
    const viewer = await builtInRole(world, "viewer");
    assertInvalid(await post(world.orgUid, {}), "identity_uid", "role_uid");
    assertInvalid(await post(world.orgUid, { identity: { uid: somebody() }, role: { uid: viewer } }), "identity_uid", "role_uid");
    assertInvalid(await post(world.orgUid, { identityUid: "somebody", roleUid: "viewer" }), "identity_uid", "role_uid");
    const made = parse(
      (await post(world.orgUid, { identityUid: somebody(), roleUid: viewer, group: { uid: newUid("") }, role: { name: "x" } })).text,
    );
    assert.deepEqual([(made.group as JsonObject).uid, (made.role as JsonObject).name], [world.orgUid, "viewer"]);
  });

  it("a role binding shows its identity and role, whatever the identity's relationship", async () => {
    const group = await world.group(world.orgUid, "bound here");
    const roleUid = await builtInRole(world, "viewer");
    const issuer = "https://issuer.example.com";
    const forms: readonly [JsonObject, string, string][] = [
      [{ claimMatch: { issuer, subject: "s" } }, issuer, "s"],
      [{ claimMatch: { issuerPattern: "https://.*", subjectPattern: "s.*" } }, "https://.*", "s.*"],
      [{ staticKeys: { issuer, subject: "s", issuerKeys: "keys" } }, issuer, "s"],
      [{ awsIdentity: { awsAccount: "012345678901", arn: "a", userId: "b" } }, "", ""],
      [{ servicePrincipal: "SERVICE_PRINCIPAL_INGESTER" }, "", ""],
    ];
    for (const [relationship, shownIssuer, subject] of forms) {
      const identityUid = await identity(world.orgUid, relationship);
      const made = await bind(group, identityUid, roleUid);
      assert.deepEqual(made, {
        uid: made.uid,
        identity: { uid: identityUid, name: "robot", description: "A robot", subject, issuer: shownIssuer, email: "" },
        group: { uid: group, name: "bound here", description: "" },
        role: { uid: roleUid, name: "viewer", description: "Viewer Role (built-in)" },
        createTime: world.clock.now().toISOString(),
        identityUid,
        roleUid,
      });
    }
  });

  it("a role binding shows only the uid of a user until the user joins the organization", async () => {
    const uid = world.userUid("late");
    const made = await bind(world.orgUid, uid, await builtInRole(world, "viewer"));
    const unknown = { uid, name: "", description: "", subject: "", issuer: "", email: "" };
    assert.deepEqual(made.identity, unknown);
    const user = await world.user("late");
    assert.deepEqual((await get(made.uid)).identity, unknown);
    await world.join(user, world.orgUid);
    const known = { uid, name: "late", description: "", subject: "late", issuer: world.issuer, email: "" };
    assert.deepEqual((await get(made.uid)).identity, known);
  });

  it("a role binding shows the current names of identity, role and group", async () => {
    const group = await world.group(world.orgUid, "before");
    const role = await world.role(group, [CAP_REPO_LIST]);
    const { uid } = await bind(group, somebody(), role);
    await world.raw("PATCH", `/iam/v2/groups/${group}`, { name: "after" });
    await world.raw("PATCH", `/iam/v2/roles/${role}`, { name: "renamed" });
    const { group: shown, role: shownRole } = (await get(uid)) as { group: JsonObject; role: JsonObject };
    assert.deepEqual([shown.name, shownRole.name], ["after", "renamed"]);
  });

  it("a role binding shows identity and role to callers that could not read them", async () => {
    const group = await world.group(world.orgUid);
    const robot = await identity(world.orgUid, { claimMatch: { issuer: "https://issuer.example.com", subject: "s" } });
    const { uid } = await bind(group, robot, await world.role(world.orgUid, [CAP_REPO_LIST]));
    const lister = await world.robot(group, [Capability.CAP_IAM_ROLE_BINDINGS_LIST]);
    const shown = parse((await world.raw("GET", `${path}/${uid}`, undefined, lister.token)).text);
    assert.deepEqual(shown, await get(uid));
    assert.equal((shown.identity as JsonObject).name, "robot");
  });

  it("a role binding to a missing role or identity is rejected", async () => {
    const viewer = await builtInRole(world, "viewer");
    const role = newUid("");
    assertAbout(await post(world.orgUid, { identityUid: somebody(), roleUid: role }), Code.NOT_FOUND, "Role", role);
    const robot = newUid(world.orgUid);
    assertAbout(await post(world.orgUid, { identityUid: robot, roleUid: viewer }), Code.NOT_FOUND, "Identity", robot);
  });

  it("an identity cannot be bound twice to the same role in a group", async () => {
    const viewer = await builtInRole(world, "viewer");
    const group = await world.group(world.orgUid);
    const [one, other] = [somebody(), somebody()];
    const first = textOf((await bind(group, one, viewer)).uid);
    assertAbout(await post(group, { identityUid: one, roleUid: viewer }), Code.ALREADY_EXISTS, "RoleBinding", first);
    await bind(world.orgUid, one, viewer);
    await bind(group, one, await builtInRole(world, "editor"));
    const { uid } = await bind(group, other, viewer);
    assertAbout(await world.raw("PATCH", `${path}/${uid}`, { identityUid: one }), Code.ALREADY_EXISTS, "RoleBinding", first);
    const changed = { identity: one, role: viewer };
    assertAbout(await world.raw("PUT", `/iam/v1/rolebindings/${uid}`, changed), Code.ALREADY_EXISTS, "RoleBinding", first);
  });

  it("a custom role can be bound in its own group and below only", async () => {
    const [home, neighbour] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const below = await world.group(home);
    const role = await world.role(home, [CAP_REPO_LIST]);
    for (const group of [home, below]) await bind(group, somebody(), role);
    for (const group of [world.orgUid, neighbour]) assertInvalid(await post(group, { identityUid: somebody(), roleUid: role }), "role_uid");
    const { uid } = await bind(neighbour, somebody(), await builtInRole(world, "viewer"));
    assertInvalid(await world.raw("PATCH", `${path}/${uid}`, { roleUid: role }), "role_uid");
  });

  it("a role binding cannot give what its creator does not hold at that group", async () => {
    const group = await world.group(world.orgUid);
    const held = [CAP_IAM_ROLE_BINDINGS_CREATE, CAP_IAM_ROLE_BINDINGS_UPDATE, CAP_REPO_LIST];
    const maker = await world.robot(group, held);
    const [less, more] = [await world.role(group, [CAP_REPO_LIST]), await world.role(group, [CAP_REPO_LIST, CAP_REPO_UPDATE])];
    const give = (roleUid: string, token = maker.token) => post(group, { identityUid: somebody(), roleUid }, token);
    assertRefused(await give(more), Code.PERMISSION_DENIED);
    assertRefused(await give(await builtInRole(world, "viewer")), Code.PERMISSION_DENIED);
    const given = await give(less);
    assert.equal(given.status, 200, given.text);
    const patch = (roleUid: string) => world.raw("PATCH", `${path}/${parse(given.text).uid}`, { roleUid }, maker.token);
    assertRefused(await patch(more), Code.PERMISSION_DENIED);
    // Not to themselves either.
    assertRefused(await post(group, { identityUid: maker.uid, roleUid: more }, maker.token), Code.PERMISSION_DENIED);
    const narrow = await world.narrow(maker, { cap: ["role_bindings.create"] });
    assertRefused(await give(less, narrow.token), Code.PERMISSION_DENIED);
    const batch = { parent: group, requests: [{ roleBinding: { identityUid: somebody(), roleUid: more } }] };
    assertRefused(await world.raw("POST", `${path}:batchCreate`, batch, maker.token), Code.PERMISSION_DENIED);
  });

  it("owners can bind the whole owner role, and only holders can bind internal capabilities", async () => {
    const owner = await world.user();
    await bind(world.orgUid, owner.uid, await builtInRole(world, "owner"));
    const give = (roleUid: string, token: string) => post(world.orgUid, { identityUid: somebody(), roleUid }, token);
    assert.equal((await give(await builtInRole(world, "owner"), owner.token)).status, 200);
    const internal = await world.role(world.orgUid, [Capability.CAP_INTERNAL, Capability.CAP_REPO_INTERNAL_ADMIN]);
    assertRefused(await give(internal, owner.token), Code.PERMISSION_DENIED);
    assert.equal((await give(internal, world.owner.token)).status, 200);
  });

  it("a batch creates role bindings in the order of its requests, with the role of the batch", async () => {
    const group = await world.group(world.orgUid);
    const [viewer, editor] = [await builtInRole(world, "viewer"), await builtInRole(world, "editor")];
    const batch = (body: JsonObject) => world.raw("POST", `${path}:batchCreate`, { parent: group, ...body });
    const identities = Array.from({ length: 25 }, somebody);
    const requests = identities.map((identityUid, i) => ({
      ...(i % 2 && { parent: group }),
      roleBinding: { identityUid, ...(i % 3 && { roleUid: viewer }) },
    }));
    const { roleBindings } = parse((await batch({ roleUid: viewer, requests })).text) as { roleBindings: JsonObject[] };
    assert.deepEqual(
      roleBindings.map(({ identityUid, roleUid }) => [identityUid, roleUid]),
      identities.map((identityUid) => [identityUid, viewer]),
    );
    for (const made of roleBindings) assert.deepEqual(await get(made.uid), made);
    const without = identities.map((identityUid, i) => ({ roleBinding: { identityUid, roleUid: i % 2 ? editor : viewer } }));
    assert.equal((await batch({ requests: without.filter((_, i) => i % 2) })).status, 200);
  });

  it("a batch has one to 25 role bindings with one group and one role", async () => {
    const group = await world.group(world.orgUid);
    const [viewer, editor] = [await builtInRole(world, "viewer"), await builtInRole(world, "editor")];
    const batch = (body: JsonObject) => world.raw("POST", `${path}:batchCreate`, { parent: group, roleUid: viewer, ...body });
    const one = () => ({ roleBinding: { identityUid: somebody() } });
    assertInvalid(await batch({ requests: [] }), "requests");
    assertInvalid(await batch({ requests: Array.from({ length: 26 }, one) }), "requests");
    assertInvalid(await batch({ requests: [one(), { ...one(), parent: world.orgUid }] }), "requests[1].parent");
    const otherRole = { roleBinding: { identityUid: somebody(), roleUid: editor } };
    assertInvalid(await batch({ requests: [one(), otherRole] }), "requests[1].role_binding.role_uid");
    assertInvalid(await batch({ roleUid: "", requests: [one()] }), "requests[0].role_binding.role_uid");
    const invalid = { roleBinding: { identityUid: "nobody" } };
    assertInvalid(await batch({ requests: [one(), invalid] }), "requests[1].role_binding.identity_uid");
    assert.deepEqual(parse((await world.raw("GET", `${path}?group=${group}`)).text).roleBindings, []);
  });

  it("a batch creates all its role bindings or none", async () => {
    const group = await world.group(world.orgUid);
    const viewer = await builtInRole(world, "viewer");
    const twice = somebody();
    const requests = [somebody(), twice, twice].map((identityUid) => ({ roleBinding: { identityUid } }));
    const answer = await world.raw("POST", `${path}:batchCreate`, { parent: group, roleUid: viewer, requests });
    assertAbout(answer, Code.ALREADY_EXISTS, "RoleBinding");
    const left = parse((await world.raw("GET", `${path}?uidp.childrenOf=${group}`)).text);
    assert.deepEqual([left.roleBindings, left.totalCount], [[], "0"]);
  });

  it("role bindings are listed by identity, role and group", async () => {
    const [a, b] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const roles = [await world.role(world.orgUid, [CAP_REPO_LIST]), await world.role(world.orgUid, [CAP_REPO_UPDATE])];
    const identities = [somebody(), somebody()];
    const made: JsonObject[] = [];
    for (const group of [a, b]) for (const role of roles) for (const each of identities) made.push(await bind(group, each, role));
    const listed = async (query: Record<string, string>) =>
      (parse((await world.raw("GET", `${path}?${new URLSearchParams(query)}`)).text).roleBindings as JsonObject[])
        .map(({ uid }) => textOf(uid))
        .toSorted();
    const [identity = "", role = ""] = [identities[0], roles[1]];
    const expected = (test: (binding: JsonObject) => boolean) =>
      made
        .filter(test)
        .map(({ uid }) => textOf(uid))
        .toSorted();
    assert.deepEqual(
      await listed({ identity }),
      expected((each) => each.identityUid === identity),
    );
    assert.deepEqual(
      await listed({ role }),
      expected((each) => each.roleUid === role),
    );
    assert.deepEqual(
      await listed({ group: a }),
      expected((each) => textOf(each.uid).startsWith(a)),
    );
    const all = expected((each) => each.identityUid === identity && each.roleUid === role && textOf(each.uid).startsWith(b));
    assert.deepEqual([await listed({ identity, role, group: b }), all.length], [all, 1]);
    for (const nothing of [{ identity: "nonsense" }, { role: a }, { group: role }]) assert.deepEqual(await listed(nothing as never), []);
  });

  it("a role binding can change its identity and role but not its group", async () => {
    const group = await world.group(world.orgUid);
    const custom = await world.role(world.orgUid, [CAP_REPO_LIST]);
    const made = await bind(group, somebody(), custom);
    const [identityUid, roleUid] = [somebody(), await builtInRole(world, "viewer")];
    const body = { ...made, identityUid, roleUid, group: { uid: world.orgUid } };
    const after = parse((await world.raw("PATCH", `${path}/${made.uid}?updateMask=*`, body)).text);
    assert.deepEqual(
      [after.uid, after.identityUid, after.roleUid, (after.group as JsonObject).uid],
      [made.uid, identityUid, roleUid, group],
    );
    assert.deepEqual(await get(made.uid), after);
    const emptied = await world.raw("PATCH", `${path}/${made.uid}?updateMask=*`, {});
    assertInvalid(emptied, "identity_uid", "role_uid");
  });
});
