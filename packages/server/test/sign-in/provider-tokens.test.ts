/** Tests tokens of an organization's identity provider that programs present for exchange and registration. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Membership_State, MembershipsService } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { userIdentityUid } from "../../src/iam/identities/user-identity.ts";
import { Code } from "../../src/lib/errors.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const TENANT_CLIENT = "client of the tenant";
let made = 0;

describeWithWorld("a token of an organization's identity provider", (world) => {
  /** An organization with a provider of this issuer. */
  async function organization(issuer: string, clientId = `client-${++made}`) {
    const uid = await world.group("", "tenant");
    const defaultRole = await world.role(uid, [Capability.CAP_IAM_GROUPS_LIST]);
    const oidc = { issuer, clientId, clientSecret: "secret", groupsClaim: "groups" };
    const identityProvider = { name: "sso", defaultRole, configuration: { case: "oidc", value: oidc } } as const;
    const provider = await world.must(IdentityProvidersService.method.createIdentityProvider, { parent: uid, identityProvider });
    return { uid, provider: provider.uid, clientId };
  }
  const exchange = (token: string, more: object = {}) => world.rest.call(SecurityTokenService.method.exchange, more, token);
  const register = (token: string, code = "") => world.rest.call(Auth.method.register, { code }, token);
  const groupUids = async (token: string): Promise<string[]> =>
    (await world.must(GroupsService.method.listGroups, {}, token)).groups.map(({ uid }) => uid);
  async function startTenantIssuer() {
    return startIssuer({ now: world.clock.now });
  }

  test("a provider's token registers its person with the default role and can then be exchanged for tokens", async () => {
    await using issuer = await startTenantIssuer();
    const { uid, clientId, provider } = await organization(issuer.issuer);
    const token = await issuer.sign({ sub: "kim", aud: clientId, email: "kim@tenant.test", email_verified: true });
    const early = await exchange(token);
    assert.equal(!early.ok && early.error.code, Code.NOT_FOUND);
    const session = await register(token);
    assert.ok(session.ok);
    assert.equal(session.value.identity, userIdentityUid(issuer.issuer, "kim"));
    for (const identityProvider of ["", provider]) {
      const tokens = await exchange(token, { identityProvider });
      assert.ok(tokens.ok && tokens.value.refreshToken);
      assert.deepEqual(await groupUids(tokens.value.token), [uid]);
      const refreshed = await world.rest.call(SecurityTokenService.method.exchangeRefreshToken, {}, tokens.value.refreshToken);
      assert.ok(refreshed.ok);
      assert.deepEqual(await groupUids(refreshed.value.token?.token ?? ""), [uid]);
    }
  });

  test("a provider's token is valid in its organization only, so that registering a shared issuer gives no access", async () => {
    // The victim signs in with the issuer that the operator trusts, and owns an organization.
    const victim = await world.user("victim");
    const owned = (await world.must(GroupsService.method.createGroup, { group: { name: "owned" } }, victim.token)).uid;
    const tenant = await organization(world.issuer, TENANT_CLIENT);
    const stolen = await world.proofOf("victim", { aud: TENANT_CLIENT, email: "victim@victim.test", email_verified: true });
    const tokens = await exchange(stolen);
    assert.ok(tokens.ok);
    const { token } = tokens.value;
    assert.deepEqual(await groupUids(token), [tenant.uid]);
    const described = await world.must(Auth.method.validate, {}, token);
    assert.deepEqual([described.subject, described.email], [victim.uid, ""]);
    const own = await world.rest.call(GroupsService.method.getGroup, { uid: owned }, token);
    assert.equal(!own.ok && own.error.code, Code.PERMISSION_DENIED);
    const founded = await world.rest.call(GroupsService.method.createGroup, { group: { name: "mine" } }, token);
    assert.equal(!founded.ok && founded.error.code, Code.PERMISSION_DENIED);
    const deleted = await world.rest.call(Auth.method.delete, { id: victim.uid }, token);
    assert.equal(!deleted.ok && deleted.error.code, Code.PERMISSION_DENIED);
    const written = await world.rest.call(
      IdentitiesService.method.updateIdentityMetadata,
      { identityMetadata: { company: "the tenant's" } },
      token,
    );
    assert.equal(!written.ok && written.error.code, Code.PERMISSION_DENIED);
    // Tokens made from it are not valid for more.
    const again = await exchange(token);
    assert.ok(again.ok);
    assert.deepEqual(await groupUids(again.value.token), [tenant.uid]);
    const refreshed = await world.rest.call(SecurityTokenService.method.exchangeRefreshToken, {}, tokens.value.refreshToken);
    assert.ok(refreshed.ok);
    assert.deepEqual(await groupUids(refreshed.value.token?.token ?? ""), [tenant.uid]);
    const scoped = await exchange(token, { scopes: [owned] });
    assert.equal(!scoped.ok && scoped.error.code, Code.PERMISSION_DENIED);
    assert.deepEqual((await groupUids(victim.token)).sort(), [owned, tenant.uid].sort());
  });

  test("an organization that holds a person's token of a shared issuer cannot make the person join", async () => {
    const victim = await world.user("unwilling");
    const tenant = await organization(world.issuer, `${TENANT_CLIENT}-2`);
    const stolen = await world.proofOf("unwilling", { aud: `${TENANT_CLIENT}-2`, email: "unwilling@victim.test" });
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, {
      parent: tenant.uid,
      groupInvite: { roleUid: await world.role(tenant.uid, [Capability.CAP_IAM_ROLES_LIST]), ttl: { seconds: 60n } },
    });
    await world.must(Auth.method.register, { code }, stolen);
    const tokens = await exchange(stolen);
    assert.ok(tokens.ok);
    const accepted = await world.rest.call(MembershipsService.method.acceptMembership, { uid: tenant.uid }, tokens.value.token);
    assert.equal(!accepted.ok && accepted.error.code, Code.PERMISSION_DENIED);
    const { memberships } = await world.must(MembershipsService.method.listMemberships, {}, victim.token);
    assert.deepEqual(
      memberships.map(({ uid, state }) => [uid, state]),
      [[tenant.uid, Membership_State.PENDING]],
    );
    // The organization sees what its own provider has told it, and no more.
    const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { identity: victim.uid });
    assert.ok(roleBindings.length > 0);
    for (const { identity } of roleBindings)
      assert.deepEqual(
        [identity?.name, identity?.subject, identity?.email],
        ["unwilling-victim.test", "unwilling", "unwilling@victim.test"],
      );
    const read = await world.rest.call(IdentitiesService.method.getIdentity, { uid: victim.uid }, world.owner.token);
    assert.equal(!read.ok && read.error.code, Code.PERMISSION_DENIED);
  });

  test("a provider's token with mapped groups gives their roles and no refresh token", async () => {
    await using issuer = await startTenantIssuer();
    const { uid, clientId, provider } = await organization(issuer.issuer);
    const roleUid = await world.role(uid, [Capability.CAP_IAM_ROLES_LIST]);
    const externalGroupRoleMapping = { externalGroupId: "staff", roleUid, scope: uid };
    await world.must(ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping, {
      parent: provider,
      externalGroupRoleMapping,
    });
    const proof = await issuer.sign({ sub: "lee", aud: [clientId, "other"], azp: clientId, groups: ["staff"] });
    assert.ok((await register(proof)).ok);
    const tokens = await exchange(proof);
    assert.ok(tokens.ok);
    assert.equal(tokens.value.refreshToken, "");
    const { capabilities } = await world.must(Auth.method.validate, {}, tokens.value.token);
    assert.deepEqual(
      capabilities.flatMap((entry) => entry.capabilities),
      ["groups.list", "roles.list"],
    );
  });

  test("a provider's token must be for the provider's client, signed by its issuer, and of the named provider", async () => {
    await using issuer = await startTenantIssuer();
    await using forger = await startTenantIssuer();
    const { clientId } = await organization(issuer.issuer);
    const elsewhere = await organization("https://elsewhere.test");
    const good = await issuer.sign({ sub: "mia", aud: clientId });
    assert.ok((await register(good)).ok);
    const codes = async (token: string, more: object = {}) => {
      const answer = await exchange(token, more);
      return answer.ok ? 0 : answer.error.code;
    };
    assert.equal(await codes(await issuer.sign({ sub: "mia", aud: "another client" })), Code.NOT_FOUND);
    assert.equal(await codes(await issuer.sign({ sub: "mia", aud: world.baseUrl })), Code.NOT_FOUND);
    assert.equal(await codes(await forger.sign({ iss: issuer.issuer, sub: "mia", aud: clientId })), Code.UNAUTHENTICATED);
    assert.equal(await codes(await issuer.sign({ aud: clientId })), Code.UNAUTHENTICATED);
    assert.equal(await codes(good, { identityProvider: elsewhere.provider }), Code.NOT_FOUND);
    assert.equal(await codes(good, { identityProvider: "nothing" }), Code.NOT_FOUND);
    assert.equal(await codes(good), 0);
    const together = { sub: "mia", aud: [clientId, "another client"] };
    for (const azp of [undefined, "another client", [clientId], "nobody"])
      assert.equal(await codes(await issuer.sign({ ...together, azp })), Code.NOT_FOUND, `several audiences and azp ${azp}`);
    assert.equal(await codes(await issuer.sign({ ...together, azp: clientId })), 0);
    assert.equal(await codes(await issuer.sign({ ...together, aud: [clientId] })), 0);
  });

  test("a token for a client that two organizations registered needs the provider's name", async () => {
    await using issuer = await startTenantIssuer();
    const [one, two] = [await organization(issuer.issuer, "shared"), await organization(issuer.issuer, "shared")];
    const token = await issuer.sign({ sub: "noa", aud: "shared" });
    const asked = await exchange(token);
    assert.deepEqual(!asked.ok && [asked.error.code, /name one of them/.test(asked.error.message)], [Code.INVALID_ARGUMENT, true]);
    await registered(world, issuer.issuer, "noa");
    for (const { uid, provider } of [one, two]) {
      const tokens = await exchange(token, { identityProvider: provider });
      assert.ok(tokens.ok);
      assert.deepEqual(await groupUids(tokens.value.token), [uid]);
    }
  });

  test("after a provider is deleted, its tokens and its refresh tokens are refused", async () => {
    await using issuer = await startTenantIssuer();
    const { clientId, provider } = await organization(issuer.issuer);
    const token = await issuer.sign({ sub: "ola", aud: clientId });
    assert.ok((await register(token)).ok);
    const tokens = await exchange(token);
    assert.ok(tokens.ok);
    await world.must(IdentityProvidersService.method.deleteIdentityProvider, { uid: provider });
    assert.equal((await exchange(token)).ok, false);
    const refreshed = await world.rest.call(SecurityTokenService.method.exchangeRefreshToken, {}, tokens.value.refreshToken);
    assert.equal(!refreshed.ok && refreshed.error.code, Code.UNAUTHENTICATED);
  });
});

/** As if the person had logged in in another way. */
async function registered(world: World, issuer: string, subject: string): Promise<void> {
  const uid = userIdentityUid(issuer, subject);
  const time = world.clock.now().toISOString();
  const row = { uid, parent: null, name: "noa", create_time: time, update_time: time, relationship_type: 1 };
  const body = JSON.stringify({ uid, name: "noa", createTime: time, updateTime: time, lastSeenTime: time });
  await world.store.transaction((db) =>
    db
      .insertInto("identity")
      .values({ ...row, body })
      .execute(),
  );
}
