import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindings } from "@holt/api/gen/platform/iam/v1/role_bindings_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { uidFromText } from "../../src/lib/uid.ts";
import { codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("roles of version 1", (world) => {
  const path = "/iam/v1/roles";
  const list = async (query: string, token?: string) =>
    parse((await world.raw("GET", `${path}?${query}`, undefined, token)).text).items as JsonObject[];
  const post = (body: JsonObject) => world.raw("POST", `${path}/${world.orgUid}`, { name: "role", ...body });

  it("capabilities have string names, and the same role has their enum names in version 2", async () => {
    const { id, ...rest } = parse((await post({ description: "", capabilities: ["repo.list", "groups.list", "repo.list"] })).text);
    assert.deepEqual(rest, { name: "role", description: "", capabilities: ["groups.list", "repo.list"] });
    const v2 = parse((await world.raw("GET", `/iam/v2/roles/${textOf(id)}`)).text);
    assert.deepEqual(v2.capabilities, ["CAP_IAM_GROUPS_LIST", "CAP_REPO_LIST"]);
    const put = await world.raw("PUT", `${path}/${textOf(id)}`, { name: "role", description: "d", capabilities: ["groups.delete"] });
    assert.deepEqual(parse(put.text), { id: id as JsonValue, name: "role", description: "d", capabilities: ["groups.delete"] });
    assert.deepEqual(await list(`id=${textOf(id)}`), [parse(put.text)]);
    assert.deepEqual((await world.raw("DELETE", `${path}/${textOf(id)}`)).text, "{}");
    assert.deepEqual(await list(`id=${textOf(id)}`), []);
  });

  it("unknown capability names and an empty list are refused", async () => {
    assertInvalid(await post({ capabilities: ["groups.fly"] }), "capabilities");
    assertInvalid(await post({ capabilities: ["CAP_REPO_LIST"] }), "capabilities");
    assertInvalid(await post({ capabilities: [] }), "capabilities");
  });

  it("the parent of a filter is a group, or / for built-in roles, and the name viewer finds one role", async () => {
    const group = await world.group(world.orgUid, "with roles");
    const custom = await world.role(group, [Capability.CAP_REPO_LIST]);
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    assert.deepEqual(await ids(`parent=${group}`), [custom]);
    assert.deepEqual(await ids(`parent=${group}&uidp.children_of=${world.orgUid}`), []);
    assert.ok((await ids("parent=/")).every((id) => textOf(id).length === 40));
    assert.deepEqual(await ids("name=viewer&parent=/"), [await builtInRole(world, "viewer")]);
    const nobody = await world.user();
    assert.deepEqual(await list("", nobody.token), await list("parent=/"));
  });
});

describeWithWorld("role bindings of version 1", (world) => {
  const path = "/iam/v1/rolebindings";
  const list = async (query: string) => parse((await world.raw("GET", `${path}?${query}`)).text).items as JsonObject[];
  const viewer = () => builtInRole(world, "viewer");
  const someone = (name: string) => uidFromText(name);

  it("a binding is flat when it is created and updated, and its group is that of its path", async () => {
    const group = await world.group(world.orgUid, "bound");
    const body = { identity: someone("a"), role: await viewer(), group: world.orgUid };
    const created = parse((await world.raw("POST", `${path}/${group}`, body)).text);
    assert.deepEqual(created, { id: created.id as JsonValue, identity: someone("a"), group, role: await viewer() });
    const v2 = parse((await world.raw("GET", `/iam/v2/roleBindings/${textOf(created.id)}`)).text);
    assert.deepEqual([v2.identityUid, v2.roleUid], [someone("a"), await viewer()]);
    const put = await world.raw("PUT", `${path}/${textOf(created.id)}`, {
      identity: someone("b"),
      role: await builtInRole(world, "editor"),
    });
    assert.deepEqual(parse(put.text), { ...created, identity: someone("b"), role: await builtInRole(world, "editor") });
    assert.equal((await world.raw("PUT", `${path}/${textOf(created.id)}`, { identity: someone("b") })).status, 400);
  });

  it("a list has the whole group and role, and what is known of the identity", async () => {
    const group = await world.group(world.orgUid, "listed");
    const role = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
    const user = await world.user("listed person");
    const binding = await world.bind(user.uid, role, group);
    const [before] = await list(`id=${binding}`);
    assert.deepEqual([before?.claimMatchSubject, before?.email], ["", ""]);
    await world.join(user, group);
    const [shown] = await list(`uidp.childrenOf=${group}`);
    const [group1] = parse((await world.raw("GET", `/iam/v1/groups?id=${group}`)).text).items as JsonObject[];
    const [role1] = parse((await world.raw("GET", `/iam/v1/roles?id=${role}`)).text).items as JsonObject[];
    const v2 = parse((await world.raw("GET", `/iam/v2/roleBindings/${binding}`)).text);
    assert.deepEqual(shown, {
      id: binding,
      group: group1 as JsonObject,
      identity: user.uid,
      role: role1 as JsonObject,
      email: "",
      claimMatchIssuer: world.issuer,
      claimMatchSubject: "listed person",
      createdAt: v2.createTime as JsonValue,
      emailUnverified: "",
    });
  });

  it("a batch has no limit of 25, is created in its order, and has one event about all bindings", async () => {
    const group = await world.group(world.orgUid, "batch");
    const role = await viewer();
    const bodies = Array.from({ length: 40 }, (_, i) => ({ identity: someone(`batch ${i}`), role }));
    const seq = await lastSeq(world);
    const answer = await world.raw("POST", `${path}/batch/${group}`, bodies);
    assert.equal(answer.status, 200, answer.text);
    const created = parse(answer.text).roleBindings as JsonObject[];
    assert.deepEqual(
      created.map(({ identity }) => identity),
      bodies.map(({ identity }) => identity),
    );
    const [event, ...more] = await eventsAfter(world, seq);
    assert.deepEqual(more, []);
    assert.equal(event?.subject, created.map(({ id }) => id).join(","));
    assert.deepEqual([event?.group_uid, event?.source], [group, `${world.baseUrl}${path}/batch`]);
  });

  it("a batch with a duplicate creates nothing", async () => {
    const group = await world.group(world.orgUid, "atomic");
    const roleBinding = { identity: someone("twice"), role: await viewer() };
    for (const client of [world.rest, world.grpc]) {
      const request = { parent: group, roleBindings: [roleBinding, roleBinding] };
      assert.equal(codeOf(await client.call(RoleBindings.method.createBatch, request, world.owner.token)), Code.ALREADY_EXISTS);
    }
    assert.deepEqual(await list(`uidp.childrenOf=${group}`), []);
    assertInvalid(await world.raw("POST", `${path}/batch/${group}`, []), "role_bindings");
    const invalid = await world.raw("POST", `${path}/batch/${group}`, [roleBinding, { identity: "nobody" }]);
    assertInvalid(invalid, "role_bindings[1].identity", "role_bindings[1].role");
  });

  it("deleting a binding that does not exist is not found", async () => {
    const group = await world.group(world.orgUid, "deleted");
    const binding = await world.bind(someone("deleted"), await viewer(), group);
    assert.deepEqual((await world.raw("DELETE", `${path}/${binding}`)).text, "{}");
    assertRefused(await world.raw("DELETE", `${path}/${binding}`), Code.NOT_FOUND);
  });
});
