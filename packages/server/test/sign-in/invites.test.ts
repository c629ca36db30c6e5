import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ExternalGroupRoleMappingsService } from "@holt/api/gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { userIdentityUid } from "../../src/iam/identities/user-identity.ts";
import { storeNames } from "../harness/harness.ts";
import { PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

for (const store of storeNames) {
  describe(`joining by an invite at sign-in on ${store}`, () => {
    const world = {} as SignInWorld;
    let role = "";
    before(async () => {
      Object.assign(world, await startSignInWorld({ store }));
      role = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    });
    after(() => world[Symbol.asyncDispose]());

    async function invite(more: { readonly email?: string; readonly singleUse?: boolean; readonly parent?: string } = {}): Promise<string> {
      const { parent = world.orgUid, ...fields } = more;
      const roleUid = parent === world.orgUid ? role : world.acme.defaultRole;
      const groupInvite = { roleUid, ttl: { seconds: 3600n }, ...fields };
      return (await world.must(GroupInvitesService.method.createGroupInvite, { parent, groupInvite })).code;
    }
    const start = (code: string, more: Readonly<Record<string, string>> = {}) =>
      world.oauth({ client_id: "auth0", redirect: PROGRAM, invite: code, ...more });
    const isRegistered = async (account: string): Promise<boolean> => {
      const uid = userIdentityUid(world.upstream.issuer, account);
      return (await world.store.reader.selectFrom("identity").select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined;
    };
    const groupUids = async (token = ""): Promise<string[]> =>
      (await world.must(GroupsService.method.listGroups, {}, token)).groups.map(({ uid }) => uid);
    const queryOf = (url: string) => Object.fromEntries(new URL(url).searchParams);

    test("the page shows the invite and the account, and nothing happens before the person confirms", async () => {
      world.upstream.setClaims("anna", { email: "anna@example.test", email_verified: true });
      const visitor = world.visitor();
      const page = await visitor.walk(start(await invite()), "anna");
      assert.match(page.text, /<h1>Join\?<\/h1>/);
      for (const text of ["anna@example.test", "my-org", "role"]) assert.ok(page.text.includes(`<dd>${text}</dd>`), text);
      assert.equal(await isRegistered("anna"), false);
      const { url } = await visitor.walk((await joinedUrl(visitor, page)) ?? "", "anna");
      assert.deepEqual(await groupUids(queryOf(url).token), [world.orgUid]);
      const events = await world.store.reader
        .selectFrom("outbox")
        .select("group_uid")
        .where("type", "like", "%.auth.registered.v1")
        .orderBy("seq")
        .execute();
      assert.deepEqual(events, [{ group_uid: world.orgUid }]);
    });

    /**
     * Confirms.
     * @returns the URL that the page leads to
     */
    async function joinedUrl(
      visitor: ReturnType<SignInWorld["visitor"]>,
      page: { text: string; url: string },
    ): Promise<string | undefined> {
      const answer = await visitor.submit(page as never, { answer: "yes" });
      return /content="0; url=([^"]*)"/.exec(answer.text)?.[1]?.replaceAll("&amp;", "&");
    }

    test("a person who declines is neither registered nor a member, and the program gets an error", async () => {
      const visitor = world.visitor();
      const page = await visitor.walk(start(await invite()), "nona");
      const answer = await visitor.submit(page, { answer: "no" });
      assert.match(answer.text, /status_code=403/);
      assert.equal(await isRegistered("nona"), false);
    });

    test("a single-use invite works for the first person who confirms", async () => {
      const code = await invite({ singleUse: true });
      const visitors = ["race1", "race2", "race3"].map((account) => ({ account, visitor: world.visitor() }));
      const pages = await Promise.all(visitors.map(({ account, visitor }) => visitor.walk(start(code), account)));
      const urls = await Promise.all(visitors.map(({ visitor }, index) => joinedUrl(visitor, pages[index]!)));
      const answers = urls.map((url) => queryOf(url ?? ""));
      assert.equal(answers.filter(({ token }) => token !== undefined).length, 1);
      assert.deepEqual(
        answers.filter(({ token }) => token === undefined).map(({ status_code }) => status_code),
        ["404", "404"],
      );
      const registered = await Promise.all(visitors.map(({ account }) => isRegistered(account)));
      assert.equal(registered.filter(Boolean).length, 1);
    });

    test("an invite for another email is refused before the question, with an error that does not name the email", async () => {
      const code = await invite({ email: "Boss@example.test" });
      world.upstream.setClaims("other", { email: "other@example.test", email_verified: true });
      world.upstream.setClaims("unverified", { email: "boss@example.test", email_verified: false });
      world.upstream.setClaims("boss", { email: "boss@example.test", email_verified: true });
      for (const account of ["other", "unverified"]) {
        const { status_code, error = "" } = queryOf((await world.visitor().walk(start(code), account)).url);
        assert.equal(status_code, "403");
        assert.match(error, /another email address/);
        assert.doesNotMatch(error, /boss/i);
        assert.equal(await isRegistered(account), false);
      }
      assert.match((await world.visitor().walk(start(code), "boss")).text, /Join\?/);
    });

    test("an organization's provider is believed about an invited email in its own organization only", async () => {
      await using foreign = await startSignInWorld({ store, hasOperator: false });
      foreign.upstream.setClaims("eve", { email: "boss@example.test" });
      const inviteAt = async (parent: string) => {
        const roleUid = await foreign.role(parent, [Capability.CAP_IAM_GROUPS_LIST]);
        const groupInvite = { roleUid, ttl: { seconds: 3600n }, email: "boss@example.test" };
        return (await foreign.must(GroupInvitesService.method.createGroupInvite, { parent, groupInvite })).code;
      };
      const walk = async (code: string) =>
        foreign.visitor().walk(foreign.oauth({ idp_id: "acme.test", redirect: PROGRAM, invite: code }), "eve");
      assert.equal(queryOf((await walk(await inviteAt(foreign.orgUid))).url).status_code, "403");
      assert.match((await walk(await inviteAt(foreign.acme.uid))).text, /Join\?/);
    });

    test("malformed, unknown and expired invite codes give an error that says what to do", async () => {
      const code = await invite();
      const walk = async (text: string) => queryOf((await world.visitor().walk(start(text), "late")).url);
      assert.match((await walk("garbled")).error ?? "", /copy the whole code/);
      const unknown = Buffer.from(JSON.stringify({ grp: world.orgUid, sig: "x" })).toString("base64");
      assert.match((await walk(unknown)).error ?? "", /ask the person who invited you/);
      world.clock.advance(3601_000);
      const late = await walk(code);
      world.clock.advance(-3601_000);
      assert.match(late.error ?? "", /ask the person who invited you/);
    });

    test("the page shows the token if no program waits", async () => {
      const visitor = world.visitor();
      const page = await visitor.walk(world.oauth({ client_id: "auth0", invite: await invite() }), "paula");
      const { text } = await visitor.submit(page, { answer: "yes" });
      assert.match(text, /You have joined/);
      const token = /<textarea id="token"[^>]*>([^<]+)<\/textarea>/.exec(text)?.[1];
      assert.deepEqual(await groupUids(token), [world.orgUid]);
    });

    test("groups that were read under older settings of the provider are not used", async () => {
      await using other = await startSignInWorld({ store });
      const { provider, uid: parent } = other.acme;
      const roleUid = await other.role(parent, [Capability.CAP_IAM_ROLES_LIST]);
      const externalGroupRoleMapping = { externalGroupId: "staff", roleUid, scope: parent };
      await other.must(ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping, {
        parent: provider,
        externalGroupRoleMapping,
      });
      const groupInvite = { roleUid: other.acme.defaultRole, ttl: { seconds: 3600n } };
      other.upstream.setClaims("kim", { groups: ["staff"], roles: [] });
      const { code } = await other.must(GroupInvitesService.method.createGroupInvite, { parent, groupInvite });
      const visitor = other.visitor();
      const page = await visitor.walk(other.oauth({ idp_id: "acme.test", redirect: PROGRAM, invite: code }), "kim");
      assert.match(page.text, /<h1>Join\?<\/h1>/);
      const identityProvider = { uid: provider, configuration: { case: "oidc", value: { groupsClaim: "roles" } } } as const;
      const updateMask = { paths: ["oidc.groups_claim"] };
      await other.must(IdentityProvidersService.method.updateIdentityProvider, { identityProvider, updateMask });
      const { token, error = "" } = queryOf((await joinedUrl(visitor, page)) ?? "");
      assert.equal(token, undefined);
      assert.match(error, /has changed its sign-in/);
    });

    test("a provider that is deleted while the page asks signs nobody in", async () => {
      await using other = await startSignInWorld({ store });
      const groupInvite = { roleUid: other.acme.defaultRole, ttl: { seconds: 3600n } };
      const { code } = await other.must(GroupInvitesService.method.createGroupInvite, { parent: other.acme.uid, groupInvite });
      const visitor = other.visitor();
      const page = await visitor.walk(other.oauth({ idp_id: "acme.test", invite: code }), "late");
      await other.store.transaction((db) => db.deleteFrom("identity_provider").execute());
      const answer = await visitor.submit(page, { answer: "yes" });
      assert.equal(answer.status, 400, answer.text);
    });
  });
}
