import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupInvites } from "@holt/api/gen/platform/iam/v1/group_invites_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const path = "/iam/v1/group_invites";
const register = (world: World, code: string, proof: string) => world.raw("POST", "/auth/v1/register", { code }, proof);

describeWithWorld("group invites of version 1", (world) => {
  const list = async (query: string) => parse((await world.raw("GET", `${path}?${query}`)).text).items as JsonObject[];

  it("an invite made by version 1 has its code in that answer alone, and admits a person", async () => {
    const group = await world.group(world.orgUid);
    const role = await world.role(group, [Capability.CAP_REPO_LIST, Capability.CAP_IAM_GROUPS_LIST]);
    const expiration = new Date(world.clock.now().getTime() + 3_600_500).toISOString();
    const answer = await world.raw("POST", `${path}/${group}`, { ttl: "3600.5s", role, email: "ann@example.com", singleUse: true });
    assert.equal(answer.status, 200, answer.text);
    const { id, keyId, code, ...rest } = parse(answer.text);
    const shown = { id: role, name: "role", description: "", capabilities: ["groups.list", "repo.list"] };
    const { role: given, ...times } = rest as JsonObject & { role: JsonObject & { capabilities: string[] } };
    assert.deepEqual({ ...given, capabilities: given.capabilities.toSorted() }, shown);
    assert.deepEqual(times, { expiration });
    assert.match(textOf(code), /^eyJncnAiOi[0-9a-zA-Z+/=]+$/);
    const [stored, ...others] = await list(`id=${textOf(id)}`);
    assert.deepEqual(others, []);
    const createdAt = world.clock.now().toISOString();
    assert.deepEqual(stored, { id, expiration, keyId, role: given, email: "ann@example.com", createdAt, singleUse: true });
    const v2 = await world.must(GroupInvitesService.method.getGroupInvite, { uid: textOf(id) });
    assert.deepEqual([v2.roleUid, v2.email, v2.singleUse, v2.code], [role, "ann@example.com", true, ""]);
    const proof = await world.proofOf("ann", { email: "ann@example.com", email_verified: true });
    assert.equal((await register(world, textOf(code), proof)).status, 200);
    assert.deepEqual(await list(`id=${textOf(id)}`), []);
  });

  it("invites are listed newest first, by the exact group, key and id", async () => {
    const group = await world.group(world.orgUid);
    const below = await world.group(group);
    const role = await builtInRole(world, "viewer");
    const make = async (parent: string) => {
      world.clock.advance(1000);
      return answerOf(await world.grpc.call(GroupInvites.method.create, { group: parent, role, ttl: { seconds: 60n } }, world.owner.token));
    };
    const [a, b, c] = [await make(group), await make(group), await make(below)];
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);
    assert.deepEqual(await ids(`group=${group}`), [b.id, a.id]);
    assert.deepEqual(await ids(`key_id=${c.keyId}`), [c.id]);
    assert.deepEqual(await ids(`group=${group}&key_id=${c.keyId}`), []);
    assert.deepEqual(await ids(`group=${group}&id=${a.id}`), [a.id]);
    assert.deepEqual(await ids("group=nonsense"), []);
    assert.deepEqual(await ids("id=nonsense"), []);
  });

  it("an invite needs a ttl and a role that the caller may give", async () => {
    const group = await world.group(world.orgUid);
    const owner = await builtInRole(world, "owner");
    const maker = await world.robot(group, [Capability.CAP_IAM_GROUP_INVITES_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE]);
    assertInvalid(await world.raw("POST", `${path}/${group}`, { role: owner }), "ttl");
    assertRefused(await world.raw("POST", `${path}/${group}`, { ttl: "60s" }), Code.INVALID_ARGUMENT);
    assertRefused(await world.raw("POST", `${path}/${group}`, { ttl: "60s", role: owner }, maker.token), Code.PERMISSION_DENIED);
  });

  it("every client can delete an invite, and the events hold no code", async () => {
    const group = await world.group(world.orgUid);
    const role = await builtInRole(world, "viewer");
    for (const client of world.clients) {
      const { create, delete: remove } = GroupInvites.method;
      const { id, code } = answerOf(await client.call(create, { group, role, ttl: { seconds: 60n } }, world.owner.token));
      assert.equal(codeOf(await client.call(remove, { id }, world.owner.token)), 0);
      assert.equal(errorOf(await client.call(remove, { id }, world.owner.token)).code, Code.NOT_FOUND);
      assertRefused(await register(world, code, await world.proofOf("bob")), Code.NOT_FOUND);
      const rows = await world.store.reader.selectFrom("outbox").selectAll().where("subject", "=", id).orderBy("seq").execute();
      assert.deepEqual(
        rows.map(({ type, group_uid, body_type, data }) => [type, group_uid, body_type, Object.keys(parse(data).body as JsonObject)]),
        [
          ["dev.holt.api.iam.group_invite.created.v1", group, "platform.iam.v1.GroupInvite", ["id", "expiration"]],
          ["dev.holt.api.iam.group_invite.deleted.v1", group, "platform.iam.v1.DeleteGroupInviteRequest", ["id"]],
        ],
      );
    }
  });

  it("the operator can create an organization for somebody else, whom the invite makes its owner", async () => {
    const call = (name: string, token: string, more: object = {}) =>
      world.grpc.call(GroupInvites.method.createWithGroup, { group: name, ttl: { seconds: 3600n }, ...more }, token);
    const { id, role, code } = answerOf(await call("acme", world.owner.token));
    const group = id.slice(0, 40);
    assert.equal(role?.name, "owner");
    const visible = await world.raw("GET", `/iam/v2/groups/${group}`);
    assert.equal(visible.status, 403);
    const user = await world.user("carl");
    assert.equal((await register(world, code, await world.proofOf("carl"))).status, 200);
    assert.equal((await world.raw("POST", `/iam/v1/groups/${group}`, { name: "folder" }, user.token)).status, 200);
    assert.equal(codeOf(await call("NOT A NAME", world.owner.token)), Code.INVALID_ARGUMENT);
    assert.equal(codeOf(await call("acme", world.owner.token, { role: await builtInRole(world, "viewer") })), Code.INVALID_ARGUMENT);
    assert.equal(codeOf(await call("acme", world.owner.token, { ttl: undefined })), Code.INVALID_ARGUMENT);
    assert.equal(codeOf(await call("acme", user.token)), Code.PERMISSION_DENIED);
  });
});
