import assert from "node:assert/strict";
import { test } from "node:test";
import { PublicContent_Kind, PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { builtInRole, providerIn } from "../harness/iam/iam.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { getSignInSettings, updateSignInSettings } = SignInSettingsService.method;
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

async function signIn(world: World, subject: string, amr: readonly string[]): Promise<string> {
  const proof = await world.proofOf(subject, { amr });
  await world.must(Auth.method.register, {}, proof);
  return (await world.must(SecurityTokenService.method.exchange, {}, proof)).token;
}

/** An organization with a person as its owner, who has signed in with a password. */
async function startOrganization(world: World, subject: string) {
  const token = await signIn(world, subject, ["pwd"]);
  const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: subject } }, token);
  return { uid, token };
}

const set = (world: World, settings: object, token?: string) =>
  world.rest.call(updateSignInSettings, { signInSettings: settings }, token ?? world.owner.token);

describeWithWorld("the sign-in settings of organizations", (world) => {
  test("the discovery of a provider tells what its issuer supports, and what is wrong with it", async () => {
    await using issuer = await startIssuer({ now: world.clock.now });
    const discover = (name: string, parent = world.orgUid, token = world.owner.token) =>
      world.rest.call(SignInSettingsService.method.discoverProvider, { parent, issuer: name }, token);
    const found = answerOf(await discover(issuer.issuer));
    assert.equal(found.redirectUri, `${world.baseUrl}/oauth/callback`);
    // The issuer of the tests signs tokens and has no sign-in.
    assert.match(found.problem, /no authorization_endpoint/);
    assert.match(answerOf(await discover(`${issuer.issuer}/`)).problem, /names the issuer/);
    assert.match(answerOf(await discover("http://127.0.0.1:9")).problem, /does not answer/);
    assert.equal(codeOf(await discover("http://issuer.test")), Code.INVALID_ARGUMENT);
    const group = await world.group(world.orgUid);
    assert.equal(codeOf(await discover(issuer.issuer, group)), Code.INVALID_ARGUMENT);
    const reader = await world.robot(world.orgUid, [Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST]);
    assert.equal(codeOf(await discover(issuer.issuer, world.orgUid, reader.token)), Code.PERMISSION_DENIED);
  });

  test("a session without the required second factor has no rights in the organization, and one with it has them", async () => {
    const { uid, token } = await startOrganization(world, "policy-1");
    const other = await world.must(GroupsService.method.createGroup, { group: { name: "policy-1-other" } }, token);
    const strong = await signIn(world, "policy-1", ["pwd", "otp"]);
    const pullToken = { name: "ci", rights: [PullToken_Right.IMAGES_PULL] };
    const { userName, password } = await world.must(PullTokensService.method.createPullToken, { parent: uid, pullToken }, token);
    const read = (as: string, group = uid) => world.rest.call(GroupsService.method.getGroup, { uid: group }, as);
    assert.equal(codeOf(await read(token)), 0);
    assert.equal(codeOf(await set(world, { uid, secondFactorRequired: true }, strong)), 0);
    const refusal = errorOf(await read(token));
    assert.equal(refusal.code, Code.PERMISSION_DENIED);
    assert.match(JSON.stringify(refusal), /SECOND_FACTOR_REQUIRED/);
    assert.match(JSON.stringify(refusal), new RegExp(uid));
    const { groups } = await world.must(GroupsService.method.listGroups, {}, token);
    assert.deepEqual(
      groups.map((group) => group.uid),
      [other.uid],
    );
    assert.equal(codeOf(await read(token, other.uid)), 0);
    assert.equal(codeOf(await read(strong)), 0);
    const login = await world.http("GET", "/v2/", undefined, {
      authorization: `Basic ${Buffer.from(`${userName}:${password}`).toString("base64")}`,
    });
    assert.equal(login.status, 200);
    assert.equal(codeOf(await set(world, { uid, displayName: "Policy" }, strong)), 0);
    const off = { signInSettings: { uid }, updateMask: { paths: ["second_factor_required"] } };
    assert.equal(codeOf(await world.rest.call(updateSignInSettings, off, strong)), 0);
    assert.equal(codeOf(await read(token)), 0);
  });

  test("the name of an organization that withholds a person's rights never means a public namesake", async () => {
    const { uid, token } = await startOrganization(world, "policy-7");
    const strong = await signIn(world, "policy-7", ["mfa"]);
    const stranger = await signIn(world, "policy-7-stranger", ["mfa"]);
    const namesake = await world.must(GroupsService.method.createGroup, { group: { name: "policy-7" } }, stranger);
    using attacker = createRegistryClient(world.baseUrl, `Bearer ${stranger}`);
    await attacker.image(`${namesake.uid}/app`, "1");
    const publicContent = { kinds: [PublicContent_Kind.IMAGES] };
    await world.must(PublicContentService.method.createPublicContent, { parent: namesake.uid, publicContent }, stranger);
    assert.equal(codeOf(await set(world, { uid, secondFactorRequired: true }, strong)), 0);
    using member = createRegistryClient(world.baseUrl, `Bearer ${token}`);
    assert.equal((await member.send("GET", "/v2/policy-7/app/manifests/1")).status, 404);
  });

  test("nobody can require of all people what the own sign-in does not show", async () => {
    const { uid, token } = await startOrganization(world, "policy-2");
    assert.equal(codeOf(await set(world, { uid, secondFactorRequired: true }, token)), Code.FAILED_PRECONDITION);
    assert.equal(codeOf(await set(world, { uid, ownProviderRequired: true }, token)), Code.FAILED_PRECONDITION);
    assert.equal((await world.must(getSignInSettings, { uid }, token)).secondFactorRequired, false);
  });

  test("a person whose sign-in does not satisfy the organization cannot redeem an invite to it", async () => {
    const { uid } = await startOrganization(world, "policy-3");
    const strong = await signIn(world, "policy-3", ["mfa"]);
    await world.must(updateSignInSettings, { signInSettings: { uid, secondFactorRequired: true } }, strong);
    const groupInvite = { roleUid: await builtInRole(world, "viewer"), ttl: { seconds: 3600n } };
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, { parent: uid, groupInvite }, strong);
    const register = async (amr: readonly string[]) =>
      codeOf(await world.rest.call(Auth.method.register, { code }, await world.proofOf("policy-3-guest", { amr })));
    assert.equal(await register(["pwd"]), Code.PERMISSION_DENIED);
    assert.equal(await register(["pwd", "otp"]), 0);
  });

  test("the last identity provider of an organization that requires its own cannot be deleted", async () => {
    const uid = await world.group("", "policy-6");
    const provider = await providerIn(world, uid);
    const remove = () => world.rest.call(IdentityProvidersService.method.deleteIdentityProvider, { uid: provider }, world.owner.token);
    assert.equal(codeOf(await set(world, { uid, ownProviderRequired: true })), 0);
    assert.equal(codeOf(await remove()), Code.FAILED_PRECONDITION);
    const off = { signInSettings: { uid }, updateMask: { paths: ["own_provider_required"] } };
    assert.equal(codeOf(await world.rest.call(updateSignInSettings, off, world.owner.token)), 0);
    assert.equal(codeOf(await remove()), 0);
  });

  test("a refreshed token keeps the methods of its sign-in", async () => {
    const proof = await world.proofOf("policy-4", { amr: ["pwd", "otp"] });
    await world.must(Auth.method.register, {}, proof);
    const { refreshToken } = await world.must(SecurityTokenService.method.exchange, {}, proof);
    const pair = await world.must(SecurityTokenService.method.exchangeRefreshToken, {}, refreshToken);
    const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "policy-4" } }, pair.token?.token);
    assert.equal(codeOf(await set(world, { uid, secondFactorRequired: true }, pair.token?.token)), 0);
  });

  test("a logo is stored, kept by other changes, served without scripts, and removed by the mask", async () => {
    const { uid, token } = await startOrganization(world, "policy-5");
    const { logoUri } = await world.must(updateSignInSettings, { signInSettings: { uid, logo: PNG, displayName: "Five" } }, token);
    const renamed = await world.must(updateSignInSettings, { signInSettings: { uid, displayName: "Six" } }, token);
    assert.deepEqual([renamed.logoUri, renamed.displayName, renamed.logo.length], [logoUri, "Six", 0]);
    const answer = await fetch(logoUri);
    assert.equal(answer.headers.get("content-type"), "image/png");
    assert.match(answer.headers.get("content-security-policy") ?? "", /default-src 'none'.*sandbox/);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), PNG);
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>');
    assert.equal(codeOf(await set(world, { uid, logo: svg }, token)), Code.INVALID_ARGUMENT);
    const removal = { signInSettings: { uid }, updateMask: { paths: ["logo"] } };
    assert.equal((await world.must(updateSignInSettings, removal, token)).logoUri, "");
    assert.equal((await fetch(logoUri)).status, 404);
  });
});
