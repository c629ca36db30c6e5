/** Joining, on the page after a sign-in, organizations that have bound the person. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MembershipsService, Membership_State as State } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { userIdentityUid } from "../../src/iam/identities/user-identity.ts";
import { storeNames } from "../harness/harness.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

for (const store of storeNames) {
  describe(`offers of memberships at sign-in on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => {
      Object.assign(world, await startSignInWorld({ store }));
    });
    after(() => world[Symbol.asyncDispose]());

    const start = () => world.oauth({ client_id: "auth0" });
    const tokenOf = (text: string) => /<textarea[^>]*>([^<]*)</.exec(text)?.[1] ?? "";
    const statesOf = async (token: string) =>
      (await world.must(MembershipsService.method.listMemberships, {}, token)).memberships.map(({ uid, state }) => [uid, state]);
    async function bind(account: string): Promise<void> {
      const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
      const identityUid = userIdentityUid(world.upstream.issuer, account);
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding: { identityUid, roleUid } });
    }

    test("a person joins an organization on the page that follows a sign-in, once", async () => {
      const visitor = world.visitor();
      assert.doesNotMatch((await visitor.walk(start(), "anna")).text, /given you a role/);
      await bind("anna");
      const page = await visitor.walk(start(), "anna");
      assert.match(page.text, /given you a role[\s\S]*Join my-org<\/button>/);
      const token = tokenOf(page.text);
      assert.deepEqual(await statesOf(token), [[world.orgUid, State.PENDING]]);
      const stranger = world.visitor();
      await stranger.walk(start(), "berta");
      for (const [other, organization] of [
        [stranger, world.orgUid],
        [visitor, world.acme.uid],
      ] as const) {
        const refused = await other.submit(await visitor.walk(start(), "anna"), { organization });
        assert.deepEqual([refused.status, /too old/.test(refused.text)], [400, true]);
      }
      assert.deepEqual(await statesOf(token), [[world.orgUid, State.PENDING]]);
      const seq = await lastSeq(world);
      const joined = await visitor.submit(page, { organization: world.orgUid });
      assert.match(joined.text, /<h1>Joined<\/h1>\s*<p>You have joined my-org/);
      assert.deepEqual(await statesOf(token), [[world.orgUid, State.JOINED]]);
      assert.deepEqual(
        (await eventsAfter(world, seq)).map(({ type, subject, group_uid }) => [type.replace(/^.*\.api/, "api"), subject, group_uid]),
        [["api.holt.membership.accepted.v1", userIdentityUid(world.upstream.issuer, "anna"), world.orgUid]],
      );
      assert.equal((await visitor.submit(page, { organization: world.orgUid })).status, 400);
      assert.doesNotMatch((await visitor.walk(start(), "anna")).text, /given you a role/);
    });

    test("neither a program nor a login for one organization gets an offer", async () => {
      const visitor = world.visitor();
      await visitor.walk(start(), "carla");
      await bind("carla");
      const { url } = await visitor.walk(world.oauth({ client_id: "auth0", redirect: PROGRAM }), "carla");
      assert.ok(url.startsWith("http://127.0.0.1:9/"));
      const limited = await visitor.walk(world.oauth({ idp_id: "acme.test" }), "carla");
      assert.match(limited.text, /You are signed in/);
      assert.doesNotMatch(limited.text, /given you a role/);
    });
  });
}
