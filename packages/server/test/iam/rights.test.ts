/** Rights follow bindings, roles, groups and tokens from the next request on. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, createGrpcClient, createRestClient, errorOf } from "../harness/clients.ts";
import { startServer } from "../harness/harness.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { fieldsOf } from "../harness/refusal.ts";
import { until } from "../harness/wait.ts";
import { type Caller, describeWithWorld, startWorld } from "../harness/world.ts";

const { CAP_IAM_GROUPS_LIST, CAP_IAM_GROUPS_CREATE, CAP_REPO_LIST } = Capability;

describeWithWorld("rights", (world) => {
  const mayRead = async ({ token }: Caller, uid: string): Promise<boolean> => {
    const codes = await Promise.all(
      world.clients.map(async (client) => codeOf(await client.call(GroupsService.method.getGroup, { uid }, token))),
    );
    assert.equal(codes[0], codes[1]);
    assert.ok(codes[0] === 0 || codes[0] === Code.PERMISSION_DENIED, `code ${codes[0]}`);
    return codes[0] === 0;
  };
  const listed = async ({ token }: Caller): Promise<string[]> =>
    (await world.must(GroupsService.method.listGroups, { pageSize: 200 }, token)).groups.map(({ uid }) => uid);

  test("a binding gives and its deletion takes rights from the next request on", async () => {
    const group = await world.group(world.orgUid);
    const role = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]);
    for (const who of [await world.user(), await world.robot(world.orgUid)]) {
      for (let round = 0; round < 3; round++) {
        assert.equal(await mayRead(who, group), false);
        assert.deepEqual(await listed(who), []);
        const binding = await world.bind(who.uid, role, group);
        assert.equal(await mayRead(who, group), true);
        assert.deepEqual(await listed(who), [group]);
        await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
      }
      assert.equal(await mayRead(who, group), false);
    }
  });

  test("a page token shows no rows after the right to see them has ended", async () => {
    const group = await world.group(world.orgUid);
    const who = await world.user();
    const binding = await world.bind(who.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), group);
    for (let i = 0; i < 3; i++) await world.group(group);
    const page = (pageToken: string) => world.must(GroupsService.method.listGroups, { pageSize: 2, pageToken }, who.token);
    const first = await page("");
    assert.deepEqual([first.groups.length, first.totalCount], [2, 4n]);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    const second = await page(first.nextPageToken);
    assert.deepEqual([second.groups, second.totalCount, second.nextPageToken], [[], 0n, ""]);
  });

  test("changing the role or identity of a binding takes effect with the next request", async () => {
    const group = await world.group(world.orgUid);
    const [first, second] = [await world.user(), await world.user()];
    const [reading, other] = [await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), await world.role(world.orgUid, [CAP_REPO_LIST])];
    const uid = await world.bind(first.uid, other, group);
    const update = (roleBinding: object) =>
      world.must(RoleBindingsService.method.updateRoleBinding, { roleBinding: { uid, ...roleBinding } });
    assert.equal(await mayRead(first, group), false);
    await update({ roleUid: reading });
    assert.equal(await mayRead(first, group), true);
    await update({ identityUid: second.uid });
    assert.deepEqual([await mayRead(first, group), await mayRead(second, group)], [false, true]);
    await update({ roleUid: other });
    assert.deepEqual([await mayRead(first, group), await mayRead(second, group)], [false, false]);
  });

  test("changing the capabilities of a role takes effect with the next request", async () => {
    const group = await world.group(world.orgUid);
    const role = await world.role(group, [CAP_REPO_LIST]);
    const who = await world.user();
    await world.bind(who.uid, role, group);
    const set = (capabilities: Capability[]) =>
      world.must(RolesService.method.updateRole, { role: { uid: role, capabilities }, updateMask: { paths: ["capabilities"] } });
    for (let round = 0; round < 2; round++) {
      assert.equal(await mayRead(who, group), false);
      await set([CAP_IAM_GROUPS_LIST]);
      assert.equal(await mayRead(who, group), true);
      await set([CAP_REPO_LIST]);
    }
    assert.equal(await mayRead(who, group), false);
  });

  test("deleting the group of a binding ends the rights it gave", async () => {
    const group = await world.group(world.orgUid);
    const who = await world.user();
    await world.bind(who.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), group);
    assert.equal(await mayRead(who, group), true);
    await world.must(GroupsService.method.deleteGroup, { uid: group });
    assert.equal(await mayRead(who, group), false);
    assert.deepEqual(await listed(who), []);
  });

  test("the tokens of a deleted identity are refused", async () => {
    const who = await world.robot(world.orgUid, [CAP_IAM_GROUPS_LIST]);
    assert.equal(await mayRead(who, world.orgUid), true);
    await world.must(IdentitiesService.method.deleteIdentity, { uid: who.uid });
    for (const client of world.clients) {
      const get = await client.call(GroupsService.method.getGroup, { uid: world.orgUid }, who.token);
      const list = await client.call(GroupsService.method.listGroups, {}, who.token);
      const exchange = await client.call(SecurityTokenService.method.exchange, {}, who.token);
      assert.deepEqual([get, list, exchange].map(codeOf), [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED, Code.UNAUTHENTICATED]);
    }
  });

  test("an identity that belongs to a group has no rights above or beside that group, even if bound there", async () => {
    const home = await world.group(world.orgUid, "home");
    const room = await world.group(home, "room");
    const neighbour = await world.group(world.orgUid, "neighbour");
    const robot = await world.robot(home);
    const role = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST, CAP_IAM_GROUPS_CREATE]);
    await world.bind(robot.uid, role, world.orgUid);
    assert.deepEqual(await Promise.all([world.orgUid, neighbour, home, room].map((group) => mayRead(robot, group))), [
      false,
      false,
      true,
      true,
    ]);
    assert.deepEqual((await listed(robot)).toSorted(), [home, room].toSorted());
    const answer = await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, { name: "x" }, robot.token);
    assert.equal(answer.status, 403, answer.text);
    assert.equal((await world.raw("POST", `/iam/v2/groups/${room}`, { name: "x" }, robot.token)).status, 200);
  });

  test("an identity that belongs to a group has no rights above its binding", async () => {
    const home = await world.group(world.orgUid, "home");
    const room = await world.group(home, "room");
    const robot = await world.robot(home);
    await world.bind(robot.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), room);
    assert.deepEqual([await mayRead(robot, home), await mayRead(robot, room)], [false, true]);
  });

  test("an identity cannot be bound where it cannot act", async () => {
    const [home, neighbour] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const robot = await world.robot(home);
    const role = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]);
    const roleBinding = { identityUid: robot.uid, roleUid: role };
    for (const client of world.clients) {
      const outcome = await client.call(
        RoleBindingsService.method.createRoleBinding,
        { parent: neighbour, roleBinding },
        world.owner.token,
      );
      assert.deepEqual(violationsOf(errorOf(outcome)), [Code.INVALID_ARGUMENT, ["identity_uid"]]);
    }
    const user = await world.user();
    const binding = await world.bind(user.uid, role, neighbour);
    const moved = await world.raw("PATCH", `/iam/v2/roleBindings/${binding}`, { identityUid: robot.uid });
    assert.equal(moved.status, 400);
  });

  test("a token narrowed to scopes gives no rights outside of them", async () => {
    const [a, b] = [await world.group(world.orgUid, "a"), await world.group(world.orgUid, "b")];
    const below = await world.group(a, "below");
    const narrow = await world.narrow(world.owner, { scopes: [a] });
    assert.deepEqual(await Promise.all([world.orgUid, b, a, below].map((group) => mayRead(narrow, group))), [false, false, true, true]);
    assert.deepEqual((await listed(narrow)).toSorted(), [a, below].toSorted());
    const founding = await world.raw("POST", "/iam/v2/groups", { name: "org" }, narrow.token);
    assert.equal(founding.status, 403);
  });

  test("a token narrowed to capabilities gives no others", async () => {
    const group = await world.group(world.orgUid);
    const narrow = await world.narrow(world.owner, { cap: ["groups.list"] });
    assert.equal(await mayRead(narrow, group), true);
    assert.equal((await world.raw("POST", `/iam/v2/groups/${group}`, { name: "x" }, narrow.token)).status, 403);
    assert.equal((await world.raw("GET", `/iam/v2/identities?uidp.childrenOf=${group}`, undefined, narrow.token)).status, 200);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`, undefined, narrow.token)).status, 403);
  });

  test("exchanging a narrowed token does not widen it again", async () => {
    const [a, b] = [await world.group(world.orgUid, "a"), await world.group(world.orgUid, "b")];
    const narrow = await world.narrow(world.owner, { scopes: [a], cap: ["groups.list"] });
    const again = await world.narrow(narrow, { cap: ["groups.list", "groups.create", "groups.delete"] });
    assert.deepEqual([await mayRead(again, a), await mayRead(again, b)], [true, false]);
    assert.equal((await world.raw("POST", `/iam/v2/groups/${a}`, { name: "x" }, again.token)).status, 403);
    for (const scope of [b, world.orgUid]) {
      const outcome = await world.rest.call(SecurityTokenService.method.exchange, { scopes: [scope] }, narrow.token);
      assert.equal(codeOf(outcome), Code.PERMISSION_DENIED);
    }
  });

  test("a narrowed token loses rights when the binding is deleted", async () => {
    const group = await world.group(world.orgUid);
    const who = await world.user();
    const binding = await world.bind(who.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), group);
    const narrow = await world.narrow(who, { scopes: [group], cap: ["groups.list"] });
    assert.equal(await mayRead(narrow, group), true);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    assert.equal(await mayRead(narrow, group), false);
  });
});

describe("rights on two servers with one database", () => {
  test("rights given or taken on one server take effect on the other", async () => {
    const url = await createMigratedDatabase();
    await using world = await startWorld({ env: { HOLT_DATABASE_URL: url } });
    // Both servers have the same public address, as behind a load balancer.
    await using other = await startServer({
      clock: world.clock,
      env: { HOLT_DATABASE_URL: url, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl },
    });
    const there = `http://127.0.0.1:${other.port}`;
    assert.notEqual(there, world.baseUrl);
    await using rest = createRestClient(there);
    await using grpc = createGrpcClient(there);
    const group = await world.group(world.orgUid);
    const role = await world.role(group, [CAP_IAM_GROUPS_LIST]);
    const who = await world.user();
    const codes = () =>
      Promise.all([rest, grpc].map(async (client) => codeOf(await client.call(GroupsService.method.getGroup, { uid: group }, who.token))));
    const becomes = async (code: number) => {
      await until(async () => (await codes()).every((each) => each === code));
      // The answer does not change back.
      for (let i = 0; i < 5; i++) assert.deepEqual(await codes(), [code, code]);
    };
    await becomes(Code.PERMISSION_DENIED);
    for (let round = 0; round < 3; round++) {
      const binding = await world.bind(who.uid, role, group);
      await becomes(0);
      await world.must(RolesService.method.updateRole, { role: { uid: role, capabilities: [CAP_REPO_LIST] } });
      await becomes(Code.PERMISSION_DENIED);
      await world.must(RolesService.method.updateRole, { role: { uid: role, capabilities: [CAP_IAM_GROUPS_LIST] } });
      await becomes(0);
      await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
      await becomes(Code.PERMISSION_DENIED);
    }
  });
});

function violationsOf({ code, details }: { code: number; details: readonly JsonObject[] }): [number, string[]] {
  return [code, fieldsOf(details)];
}
