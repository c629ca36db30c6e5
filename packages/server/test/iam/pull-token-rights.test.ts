/** Rights of pull tokens with real requests: those of their creators, and the rights to create, see and revoke tokens. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type PullToken, PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { pullTokenActions } from "../harness/iam/pull-tokens.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const methods = PullTokensService.method;
const CREATE = [Capability.CAP_IAM_IDENTITY_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE];
const PULL = [Capability.CAP_MANIFEST_LIST, Capability.CAP_REPO_BLOBS_GET];

describeWithWorld("rights of pull tokens", (world) => {
  it("a pull token loses the rights that its creator loses, and gets them back with it", async () => {
    const { create, statusOf, push } = pullTokenActions(world);
    const [team, other] = [await world.group(world.orgUid, "bound-team"), await world.group(world.orgUid, "bound-other")];
    await push("my-org/bound-team/app");
    await push("my-org/bound-other/app");
    const creator = await world.robot(world.orgUid);
    const role = await world.role(world.orgUid, [...CREATE, ...PULL]);
    const binding = await world.bind(creator.uid, role, world.orgUid);
    const token = await create(world.orgUid, {}, creator);
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 200);
    // The creator keeps its rights in one team alone, and so does the token.
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 404);
    await world.bind(creator.uid, role, team);
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 200);
    assert.equal(await statusOf(token, "GET", "my-org/bound-other/app/manifests/1"), 404);
    // More rights of the creator add nothing to the token.
    await world.bind(creator.uid, await builtInRole(world, "owner"), world.orgUid);
    assert.notEqual(await statusOf(token, "POST", "my-org/bound-other/app/blobs/uploads/"), 202);
    assert.equal(await statusOf(token, "GET", "/libraries/python/my-org/simple/"), 404);
    await world.raw("DELETE", `/iam/v2/identities/${creator.uid}`);
    assert.equal(await statusOf(token, "GET", "my-org/bound-team/app/manifests/1"), 401);
    assert.notEqual(other, team);
  });

  it("a pull token ends with the account of the person who created it, and a new account does not revive it", async () => {
    const { create, statusOf, push } = pullTokenActions(world);
    await push("my-org/personal");
    const role = await world.role(world.orgUid, [...CREATE, ...PULL]);
    const person = await world.user("leaver");
    await world.bind(person.uid, role, world.orgUid);
    await world.join(person, world.orgUid);
    const token = await create(world.orgUid, {}, person);
    assert.equal(await statusOf(token, "GET", "my-org/personal/manifests/1"), 200);
    await world.must(Auth.method.delete, { id: person.uid }, person.token);
    assert.equal(await statusOf(token, "GET", "my-org/personal/manifests/1"), 401);
    world.clock.advance(1000);
    const again = await world.user("leaver");
    await world.bind(again.uid, role, world.orgUid);
    await world.join(again, world.orgUid);
    assert.equal(await statusOf(token, "GET", "my-org/personal/manifests/1"), 401);
  });

  it("nobody creates a pull token with rights that the caller or its access token lacks", async () => {
    const { attempt } = pullTokenActions(world);
    const puller = await world.robot(world.orgUid, [...CREATE, ...PULL]);
    assert.equal(codeOf(await attempt(world.orgUid, { rights: [Right.IMAGES_PUSH] }, puller)), Code.PERMISSION_DENIED);
    assert.equal(codeOf(await attempt(world.orgUid, { rights: [Right.PYTHON_PULL] }, puller)), Code.PERMISSION_DENIED);
    const narrowed = await world.narrow(puller, { cap: ["identity.create", "role_bindings.create"] });
    assert.equal(codeOf(await attempt(world.orgUid, {}, narrowed)), Code.PERMISSION_DENIED);
    const reader = await world.robot(world.orgUid, PULL);
    assert.equal(codeOf(await attempt(world.orgUid, {}, reader)), Code.PERMISSION_DENIED);
  });

  it("an independent token keeps its rights, and only the organization's managers of identities make one", async () => {
    const { create, attempt, statusOf, push } = pullTokenActions(world);
    await push("my-org/independent");
    const manager = [...CREATE, ...PULL, Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_UPDATE];
    const ordinary = await world.robot(world.orgUid, [...CREATE, ...PULL]);
    assert.equal(codeOf(await attempt(world.orgUid, { independent: true }, ordinary)), Code.PERMISSION_DENIED);
    const team = await world.group(world.orgUid, "team");
    const ofTeam = await world.robot(team, manager);
    assert.equal(codeOf(await attempt(team, { independent: true }, ofTeam)), Code.PERMISSION_DENIED);
    const creator = await world.robot(world.orgUid, manager);
    const token = await create(world.orgUid, { independent: true }, creator);
    await world.raw("DELETE", `/iam/v2/identities/${creator.uid}`);
    assert.equal(await statusOf(token, "GET", "my-org/independent/manifests/1"), 200);
  });

  it("a creator who has lost all rights at the group neither sees nor revokes the token", async () => {
    const { create } = pullTokenActions(world);
    const creator = await world.robot(world.orgUid);
    const binding = await world.bind(creator.uid, await world.role(world.orgUid, [...CREATE, ...PULL]), world.orgUid);
    const token = await create(world.orgUid, {}, creator);
    await world.must(methods.getPullToken, { uid: token.uid }, creator.token);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    for (const method of [methods.getPullToken, methods.rotatePullToken, methods.deletePullToken])
      assert.equal(codeOf(await world.rest.call(method, { uid: token.uid }, creator.token)), Code.PERMISSION_DENIED, method.name);
    assert.deepEqual((await world.must(methods.listPullTokens, {}, creator.token)).pullTokens, []);
  });

  it("the creator of an independent token sees it, and revokes it only with identity.delete", async () => {
    const { create } = pullTokenActions(world);
    const manager = [...CREATE, ...PULL, Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_UPDATE];
    const creator = await world.robot(world.orgUid, manager);
    const token = await create(world.orgUid, { independent: true }, creator);
    await world.must(methods.getPullToken, { uid: token.uid }, creator.token);
    const revoke = () => world.rest.call(methods.deletePullToken, { uid: token.uid }, creator.token);
    assert.equal(codeOf(await revoke()), Code.PERMISSION_DENIED);
    await world.bind(creator.uid, await world.role(world.orgUid, [Capability.CAP_IAM_IDENTITY_DELETE]), world.orgUid);
    assert.equal(codeOf(await revoke()), 0);
  });

  it("a rotation hands out no capability that the caller lacks", async () => {
    const { create } = pullTokenActions(world);
    const { CAP_IAM_IDENTITY_UPDATE, CAP_IAM_ROLE_BINDINGS_UPDATE, CAP_REPO_LIST } = Capability;
    const manager = [...CREATE, ...PULL, CAP_IAM_IDENTITY_UPDATE, CAP_IAM_ROLE_BINDINGS_UPDATE];
    const rotate = ({ uid }: PullToken, { token }: Caller) => world.rest.call(methods.rotatePullToken, { uid }, token);
    // The role of the owner contains repo.list, which a token to pull images has if its creator has it.
    const ofOwner = await create(world.orgUid);
    const other = await world.robot(world.orgUid, manager);
    const refused = errorOf(await rotate(ofOwner, other));
    assert.equal(refused.code, Code.PERMISSION_DENIED);
    assert.match(refused.message, /repo\.list/);
    assert.equal(codeOf(await rotate(await create(world.orgUid, {}, await world.robot(world.orgUid, manager)), other)), 0);
    // An independent token keeps capabilities that its creator has lost.
    const creator = await world.robot(world.orgUid, manager);
    const binding = await world.bind(creator.uid, await world.role(world.orgUid, [CAP_REPO_LIST]), world.orgUid);
    const independent = await create(world.orgUid, { independent: true }, creator);
    assert.equal(codeOf(await rotate(independent, creator)), 0);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    assert.equal(codeOf(await rotate(independent, creator)), Code.PERMISSION_DENIED);
  });

  it("an adopted token depends on the adopter, who needs its rights", async () => {
    const { create, statusOf, push } = pullTokenActions(world);
    await push("my-org/adopted");
    const creator = await world.robot(world.orgUid, [...CREATE, ...PULL]);
    const token = await create(world.orgUid, {}, creator);
    const powerless = await world.robot(world.orgUid, [Capability.CAP_IAM_IDENTITY_UPDATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE]);
    assert.equal(codeOf(await world.rest.call(methods.adoptPullToken, { uid: token.uid }, powerless.token)), Code.PERMISSION_DENIED);
    const adopted = await world.must(methods.adoptPullToken, { uid: token.uid });
    assert.deepEqual([adopted.creator, adopted.password, adopted.independent], [world.owner.uid, "", false]);
    await world.raw("DELETE", `/iam/v2/identities/${creator.uid}`);
    assert.equal(await statusOf(token, "GET", "my-org/adopted/manifests/1"), 200);
  });

  it("the roles for creators of pull tokens create tokens of their kind, see and revoke their own, and no others", async () => {
    const { create, attempt, statusOf, push } = pullTokenActions(world);
    await push("my-org/created");
    const others = await create(world.orgUid);
    for (const [role, right, foreign] of [
      ["registry.pull_token_creator", Right.IMAGES_PULL, Right.PYTHON_PULL],
      ["libraries.python.pull_token_creator", Right.PYTHON_PULL, Right.JAVA_PULL],
      ["libraries.java.pull_token_creator", Right.JAVA_PULL, Right.IMAGES_PULL],
    ] as const) {
      const creator = await world.robot(world.orgUid);
      await world.bind(creator.uid, await builtInRole(world, role), world.orgUid);
      const token = await create(world.orgUid, { rights: [right] }, creator);
      assert.equal(await statusOf(token, "GET", "my-org/created/manifests/1"), right === Right.IMAGES_PULL ? 200 : 404);
      for (const refused of [foreign, Right.IMAGES_PUSH])
        assert.equal(codeOf(await attempt(world.orgUid, { rights: [refused] }, creator)), Code.PERMISSION_DENIED, role);
      const listed = await world.must(methods.listPullTokens, {}, creator.token);
      assert.deepEqual(
        listed.pullTokens.map(({ uid }) => uid),
        [token.uid],
      );
      assert.equal(listed.totalCount, 1n);
      if (role === "registry.pull_token_creator") {
        // A narrowed access token does not act as the creator.
        const narrowed = await world.narrow(creator, { cap: ["groups.list"] });
        assert.deepEqual((await world.must(methods.listPullTokens, {}, narrowed.token)).pullTokens, []);
        for (const method of [methods.getPullToken, methods.rotatePullToken, methods.deletePullToken])
          assert.equal(codeOf(await world.rest.call(method, { uid: token.uid }, narrowed.token)), Code.PERMISSION_DENIED);
      }
      for (const method of [methods.getPullToken, methods.rotatePullToken, methods.deletePullToken])
        assert.equal(codeOf(await world.rest.call(method, { uid: others.uid }, creator.token)), Code.PERMISSION_DENIED);
      const rotated = await world.must(methods.rotatePullToken, { uid: token.uid }, creator.token);
      assert.notEqual(rotated.password, token.password);
      await world.must(methods.deletePullToken, { uid: token.uid }, creator.token);
      assert.equal(await statusOf(rotated, "GET", "my-org/created/manifests/1"), 401);
    }
  });

  it("a role for creators of pull tokens counts at its group and below, and for single repositories there", async () => {
    const { create, attempt, statusOf, push } = pullTokenActions(world);
    const group = await world.group(world.orgUid, "creators");
    const inner = await world.group(group, "inner");
    for (const name of ["web", "api", "inner/web"]) await push(`my-org/creators/${name}`);
    const creator = await world.robot(group);
    await world.bind(creator.uid, await builtInRole(world, "registry.pull_token_creator"), group);
    const statuses = async (token: PullToken) =>
      Promise.all(["web", "api", "inner/web"].map((name) => statusOf(token, "GET", `my-org/creators/${name}/manifests/1`)));
    assert.deepEqual(await statuses(await create(group, {}, creator)), [200, 200, 200]);
    assert.deepEqual(await statuses(await create(inner, {}, creator)), [404, 404, 200]);
    assert.deepEqual(await statuses(await create(group, { repositories: ["web"] }, creator)), [200, 404, 404]);
    assert.deepEqual(await statuses(await create(group, { repositories: ["*/web"] }, creator)), [404, 404, 200]);
    assert.deepEqual(await statuses(await create(inner, { repositories: ["web"] }, creator)), [404, 404, 200]);
    assert.equal(codeOf(await attempt(world.orgUid, { repositories: ["creators/web"] }, creator)), Code.PERMISSION_DENIED);
    assert.equal(codeOf(await attempt(group, { independent: true }, creator)), Code.PERMISSION_DENIED);
  });
});
