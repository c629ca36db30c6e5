import assert from "node:assert/strict";
import { it } from "node:test";
import { AccessService, type ExplainAccessResponse } from "@holt/api/gen/holt/v1/access_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { builtInRoles } from "../../src/iam/grants/built-in-roles.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { type Caller, describeWithWorld, type World } from "../harness/world.ts";

const { explainAccess, testToken } = AccessService.method;
const LIST = Capability.CAP_IAM_GROUPS_LIST;
/** Capabilities that the method requires. */
const REQUIRED_CAPABILITIES = [Capability.CAP_IAM_ROLE_BINDINGS_LIST, Capability.CAP_IAM_ROLES_LIST, Capability.CAP_IAM_IDENTITY_LIST];

const explainer =
  (world: World) =>
  async (identityUid: string, uid: string, capability = LIST, { token }: Caller = world.owner): Promise<ExplainAccessResponse> => {
    const request = { uid, identityUid, capability };
    const [rest, grpc] = await Promise.all([world.rest, world.grpc].map((client) => client.call(explainAccess, request, token)));
    assert.deepEqual(answerOf(rest!), answerOf(grpc!));
    return answerOf(rest!);
  };

describeWithWorld("explaining access", (world) => {
  const explain = (...args: Parameters<ReturnType<typeof explainer>>) => explainer(world)(...args);

  it("each binding is listed with whether it gives the capability, nearest first", async () => {
    const team = await world.group(world.orgUid, "team");
    const robot = await world.robot(world.orgUid);
    const [has, lacks] = [await world.role(world.orgUid, [LIST]), await world.role(world.orgUid, [Capability.CAP_REPO_LIST])];
    const [above, here, other] = [
      await world.bind(robot.uid, has, world.orgUid),
      await world.bind(robot.uid, has, team),
      await world.bind(robot.uid, lacks, team),
    ];
    const { allowed, summary, grants, lacking, confinedTo } = await explain(robot.uid, team);
    assert.ok(allowed);
    assert.equal(confinedTo, "");
    assert.deepEqual(
      grants.map(({ roleBindingUid, groupUid, roleUid, roleName, inherited }) => [roleBindingUid, groupUid, roleUid, roleName, inherited]),
      [
        [here, team, has, "role", false],
        [above, world.orgUid, has, "role", true],
      ],
    );
    assert.deepEqual(
      lacking.map(({ roleBindingUid }) => roleBindingUid),
      [other],
    );
    assert.equal(summary, `"robot" has groups.list at ${team}: it is bound to role "role" there, and 1 other binding gives it too.`);
  });

  it("the explanation also works for a resource in a group and agrees with the decisions of calls", async () => {
    const robot = await world.robot(world.orgUid, [LIST]);
    const folder = await world.group(world.orgUid);
    const uid = newUid(folder);
    assert.equal((await explain(robot.uid, uid)).allowed, true);
    const [binding] = (await explain(robot.uid, uid)).grants;
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding?.roleBindingUid ?? "" });
    const after = await explain(robot.uid, uid);
    assert.deepEqual([after.allowed, after.grants, after.lacking], [false, [], []]);
    assert.match(after.summary, /does not have groups\.list .*: no binding that you may see gives it; a role that you could bind would\.$/);
  });

  it("only roles that the caller could bind are suggested, those with the fewest capabilities first", async () => {
    const team = await world.group(world.orgUid);
    const robot = await world.robot(team);
    const [small, elsewhere] = [await world.role(team, [LIST]), await world.role(await world.group(world.orgUid), [LIST])];
    const { rolesWithCapability: roles, allowed } = await explain(robot.uid, team);
    assert.equal(allowed, false);
    assert.equal(roles[0], small);
    assert.ok(roles.includes(builtInRoles.find(({ name }) => name === "viewer")?.uid ?? ""));
    assert.ok(!roles.includes(elsewhere));

    const reader = await world.robot(team, REQUIRED_CAPABILITIES);
    assert.deepEqual((await explain(robot.uid, team, LIST, reader)).rolesWithCapability, []);
    const binder = await world.robot(team, [...REQUIRED_CAPABILITIES, LIST, Capability.CAP_IAM_ROLE_BINDINGS_CREATE]);
    const offered = (await explain(robot.uid, team, LIST, binder)).rolesWithCapability;
    assert.ok(offered.includes(small));
    assert.ok(!offered.includes(builtInRoles.find(({ name }) => name === "owner")?.uid ?? ""));
    for (const roleUid of offered) {
      const made = await world.rest.call(
        RoleBindingsService.method.createRoleBinding,
        { parent: team, roleBinding: { identityUid: robot.uid, roleUid } },
        binder.token,
      );
      assert.equal(codeOf(made), 0, roleUid);
    }
  });

  it("the explanation names the group that confines an identity, whatever is bound to it", async () => {
    const [home, beside] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const robot = await world.robot(home);
    const unbound = await explain(robot.uid, beside);
    assert.deepEqual([unbound.allowed, unbound.confinedTo, unbound.rolesWithCapability], [false, "", []]);
    await world.bind(robot.uid, await world.role(world.orgUid, [LIST]), world.orgUid);
    const bound = await explain(robot.uid, beside);
    assert.deepEqual([bound.allowed, bound.confinedTo, bound.grants.length], [false, home, 1]);
    assert.match(bound.summary, new RegExp(`it was created in ${home} and acts only there and below\\.$`));
    assert.equal((await explain(robot.uid, home)).allowed, true);
  });

  it("bindings above the caller's reach are not named, only that something above gives the capability", async () => {
    const team = await world.group(world.orgUid);
    const robot = await world.robot(team);
    await world.bind(robot.uid, await world.role(world.orgUid, [LIST]), world.orgUid);
    await world.bind(robot.uid, await world.role(world.orgUid, [Capability.CAP_REPO_LIST]), world.orgUid);
    const { allowed, summary, grants, lacking } = await explain(robot.uid, team, LIST, await world.robot(team, REQUIRED_CAPABILITIES));
    assert.deepEqual([allowed, grants, lacking], [true, [], []]);
    assert.ok(summary.endsWith(": a group above, where you may not read bindings, gives it."), summary);
    assert.ok(!summary.replaceAll(team, "").includes(world.orgUid));
  });

  it("an identity that the caller may not see is not found", async () => {
    const team = await world.group(world.orgUid);
    const asker = await world.robot(team, REQUIRED_CAPABILITIES);
    const above = await world.robot(world.orgUid);
    const stranger = await world.user();
    const foreign = await world.user();
    for (const identityUid of [above.uid, stranger.uid, foreign.uid, newUid(team), newUid(""), "nonsense", team]) {
      for (const client of [world.rest, world.grpc]) {
        const outcome = await client.call(explainAccess, { uid: team, identityUid, capability: LIST }, asker.token);
        assert.equal(codeOf(outcome), Code.NOT_FOUND, identityUid);
      }
    }
    // A user who is bound where the caller may list identities, and who has joined, is visible.
    await world.bind(stranger.uid, await world.role(team, [LIST]), team);
    assert.equal(
      codeOf(await world.rest.call(explainAccess, { uid: team, identityUid: stranger.uid, capability: LIST }, asker.token)),
      Code.NOT_FOUND,
    );
    await world.join(stranger, team);
    assert.equal((await explain(stranger.uid, team, LIST, asker)).allowed, true);
    assert.equal((await explain(asker.uid, team, LIST, asker)).allowed, false);
  });

  it("the explanation mentions groups of an identity provider only if they may give a person the capability", async () => {
    const user = await world.user();
    const team = await world.group(world.orgUid);
    await world.bind(user.uid, await world.role(team, [Capability.CAP_REPO_LIST]), team);
    await world.join(user, team);
    assert.doesNotMatch((await explain(user.uid, team)).summary, /session/);
    const asker = await world.robot(team, REQUIRED_CAPABILITIES);
    assert.match((await explain(user.uid, team, LIST, asker)).summary, /for the length of the session/);
  });

  it("a user's uid in place of a group and an unknown capability are rejected", async () => {
    const user = await world.user();
    for (const client of [world.rest, world.grpc]) {
      const own = await client.call(explainAccess, { uid: user.uid, identityUid: user.uid, capability: LIST }, user.token);
      assert.equal(codeOf(own), Code.PERMISSION_DENIED);
      const parent = await client.call(testToken, { parent: user.uid, claims: { iss: "https://a.test" } }, user.token);
      assert.equal(codeOf(parent), Code.PERMISSION_DENIED);
      for (const capability of [Capability.UNKNOWN, 9999 as Capability]) {
        const outcome = await client.call(explainAccess, { uid: world.orgUid, identityUid: world.owner.uid, capability }, world.token);
        assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT);
      }
    }
  });
});
