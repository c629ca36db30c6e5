/** Tests groups that an identity provider has at its userinfo endpoint only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MembershipsService } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

async function signIn(world: SignInWorld, account: string): Promise<URLSearchParams> {
  const url = world.oauth({ idp_id: "acme.test", redirect: PROGRAM });
  return new URL((await world.visitor().walk(url, account)).url).searchParams;
}

/** Maps the group `staff` to a role that lists roles. */
async function mapStaff(world: SignInWorld): Promise<void> {
  const { uid: scope, provider: parent } = world.acme;
  const roleUid = await world.role(scope, [Capability.CAP_IAM_ROLES_LIST]);
  const externalGroupRoleMapping = { externalGroupId: "staff", roleUid, scope };
  await world.must(ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping, { parent, externalGroupRoleMapping });
}

async function capabilitiesOf(world: SignInWorld, token: string | null): Promise<string[]> {
  const { capabilities } = await world.must(Auth.method.validate, {}, token ?? "");
  // Capabilities that a role has exactly are in the role.
  return capabilities.flatMap((entry) => [...entry.capabilities, ...(entry.role?.capabilities ?? [])]);
}

test("groups that are missing in the ID token are read from the userinfo endpoint, and nothing else is", async () => {
  await using world = await startSignInWorld({ hasShortTokens: true });
  await mapStaff(world);
  world.upstream.setClaims("kim", { groups: ["staff"], email: "kim@acme.test" });
  const { token, ...others } = Object.fromEntries(await signIn(world, "kim"));
  assert.deepEqual(others, {});
  assert.deepEqual(await capabilitiesOf(world, token ?? ""), ["groups.list", "roles.list"]);
  assert.equal((await world.must(Auth.method.validate, {}, token ?? "")).email, "");
  // A provider that does not answer signs people in without groups.
  world.upstream.setDown(true, "/me");
  assert.deepEqual(await capabilitiesOf(world, (await signIn(world, "kim")).get("token")), ["groups.list"]);
});

test("user information about another person ends the sign-in", async () => {
  await using world = await startSignInWorld({ hasShortTokens: true });
  await mapStaff(world);
  for (const info of [{ sub: "boss", groups: ["staff"] }, { groups: ["staff"] }, { sub: ["kim"], groups: ["staff"] }]) {
    world.upstream.setUserInfo(info);
    const answer = await signIn(world, "kim");
    const hasRights = answer.has("token") && (await capabilitiesOf(world, answer.get("token"))).includes("roles.list");
    assert.equal(hasRights, false, JSON.stringify(info));
  }
  world.upstream.setUserInfo({ sub: "boss", groups: ["staff"] });
  const answer = await signIn(world, "kim");
  assert.deepEqual([answer.get("token"), answer.get("status_code")], [null, "502"]);
});

test("people sign in although the limit of calls lets one of them wait for the provider", async () => {
  await using world = await startSignInWorld({ hasShortTokens: true, env: { HOLT_MAX_CONCURRENT_CALLS: "16" } });
  await mapStaff(world);
  world.upstream.setClaims("kim", { groups: ["staff"] });
  const { token = "", ...others } = Object.fromEntries(await signIn(world, "kim"));
  assert.deepEqual(others, {});
  assert.deepEqual(await capabilitiesOf(world, token), ["groups.list", "roles.list"]);
});

test("groups in the ID token are used without a request to the userinfo endpoint", async () => {
  await using world = await startSignInWorld();
  await mapStaff(world);
  world.upstream.setDown(true, "/me");
  world.upstream.setUserInfo({ sub: "kim", groups: ["staff"] });
  world.upstream.setClaims("kim", { groups: [] });
  assert.deepEqual(await capabilitiesOf(world, (await signIn(world, "kim")).get("token")), ["groups.list"]);
});

test("mapped groups give no rights in an organization that the person has left during the session", async () => {
  await using world = await startSignInWorld();
  await mapStaff(world);
  world.upstream.setClaims("kim", { groups: ["staff"] });
  const token = (await signIn(world, "kim")).get("token") ?? "";
  const seesRoles = async (by: string) => {
    const outcome = await world.rest.call(RolesService.method.listRoles, { uidp: { descendantsOf: world.acme.uid } }, by);
    return outcome.ok && outcome.value.roles.length > 0;
  };
  assert.deepEqual([await capabilitiesOf(world, token), await seesRoles(token)], [["groups.list", "roles.list"], true]);
  await world.must(MembershipsService.method.leaveMembership, { uid: world.acme.uid }, token);
  assert.deepEqual([await capabilitiesOf(world, token), await seesRoles(token)], [[], false]);
});
