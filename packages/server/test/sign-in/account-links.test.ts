/** Linking an account of this server with a person of an organization's identity provider. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AccountLinksService } from "@holt/api/gen/holt/v1/account_links_pb.ts";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { newUid } from "../../src/lib/uid.ts";
import { codeOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { submitTo } from "../harness/sign-in/account-visitor.ts";
import { linking, uidOf } from "../harness/sign-in/linking.ts";
import { type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const LINK_FORM = 'name="action" value="link"';

for (const store of storeNames) {
  describe(`links of accounts with sign-ins of organizations on ${store}`, () => {
    const world = {} as SignInWorld;
    const { allow, personUid, linksOf, throughAcme, person, signIn, act, begin, link } = linking(world);
    before(async () => {
      Object.assign(world, await startSignInWorld({ store, hasOperator: false }));
    });
    after(() => world[Symbol.asyncDispose]());

    const reads = async (uid: string, token: string) => codeOf(await world.rest.call(GroupsService.method.getGroup, { uid }, token)) === 0;

    async function enableDirectory() {
      const { provider } = world.acme;
      const { token } = await world.must(IdentityProvidersService.method.generateScimToken, { identityProviderUid: provider });
      // The API requires two owners.
      await world.store.transaction((db) => db.updateTable("scim_token").set({ enabled: 1 }).where("idp_uid", "=", provider).execute());
      return { path: `/scim/v2/${provider}`, token };
    }

    let directory: ReturnType<typeof enableDirectory> | undefined;

    /** Provisions the account of the person in the directory of acme.test. */
    async function provision(externalId: string) {
      directory ??= enableDirectory();
      const { path, token: credential } = await directory;
      const send = async (method: string, below: string, body: object) => {
        const headers = { authorization: `Bearer ${credential}`, "content-type": "application/scim+json" };
        const answer = await fetch(`${world.baseUrl}${path}${below}`, { method, headers, body: JSON.stringify(body) });
        return (await answer.json()) as { id: string };
      };
      const { id } = await send("POST", "/Users", { userName: externalId, externalId });
      const setActive = (value: boolean) =>
        send("PATCH", `/Users/${id}`, {
          schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
          Operations: [{ op: "replace", path: "active", value }],
        });
      return { setActive };
    }

    test("an organization that has not agreed offers no link, and its agreement is checked again at the end", async () => {
      const holder = await person("agreement@example.test");
      const visitor = world.visitor();
      const page = await signIn(visitor, holder);
      assert.equal(page.text.includes(LINK_FORM), false);
      const forced = await visitor.visit(`${world.baseUrl}/oauth/account/change`, {
        method: "POST",
        form: {
          handle: /name="handle" value="([^"]*)"/.exec(page.text)?.[1] ?? "",
          action: "link",
          provider: world.acme.provider,
        },
      });
      assert.match(forced.text, /does not allow this link/);
      await allow(true);
      const question = await begin(visitor, holder, "late");
      await allow(false);
      const refused = await submitTo(visitor, question, "/oauth/account/connect", { answer: "yes" });
      assert.match(refused.text, /does not allow links/);
      assert.deepEqual(await linksOf(holder.token), []);
      await allow(true);
    });

    test("a linked account keeps its bindings, and gets those of the person in the organization", async () => {
      const holder = await person("keeps@example.test");
      const uid = uidOf(holder.token);
      const before = await throughAcme("keeps");
      assert.equal(uidOf(before), personUid("keeps"));
      const folder = await world.must(GroupsService.method.createGroup, { parent: world.acme.uid, group: { name: "folder" } });
      const roleUid = await world.role(world.acme.uid, [Capability.CAP_IAM_ROLES_LIST]);
      await world.must(RoleBindingsService.method.createRoleBinding, {
        parent: folder.uid,
        roleBinding: { identityUid: personUid("keeps"), roleUid },
      });
      const own = await world.store.reader
        .selectFrom("role_binding")
        .select("uid")
        .where("identity_uid", "=", uid)
        .orderBy("uid")
        .execute();
      const seq = await lastSeq(world);
      const done = await link(holder, "keeps");
      assert.match(done.text, /Your account is linked[\s\S]*acme\.test: keeps/);
      const rows = world.store.reader.selectFrom("role_binding").select(["uid", "parent", "role_uid"]);
      const bindings = await rows.where("identity_uid", "=", uid).execute();
      for (const { uid: kept } of own) assert.ok(bindings.some((binding) => binding.uid === kept));
      assert.ok(bindings.some(({ parent, role_uid }) => parent === folder.uid && role_uid === roleUid));
      assert.deepEqual(await rows.where("identity_uid", "=", personUid("keeps")).execute(), []);
      const [event, ...others] = (await eventsAfter(world, seq)).filter(({ type }) => type.endsWith(".account.linked.v1"));
      assert.deepEqual([event?.subject, event?.group_uid, others.length], [uid, world.acme.uid, 0]);
      // The session that began before the link is over.
      assert.equal(codeOf(await world.rest.call(SessionsService.method.listSessions, {}, before)), 16);
      const token = await throughAcme("keeps");
      assert.equal(uidOf(token), uid);
    });

    test("a login through the provider reaches no other organization and not the account", async () => {
      const holder = await person("within@example.test");
      await link(holder, "within");
      const token = await throughAcme("within");
      assert.equal(uidOf(token), uidOf(holder.token));
      assert.deepEqual([await reads(world.acme.uid, token), await reads(world.orgUid, token)], [true, false]);
      assert.equal(await reads(world.orgUid, holder.token), true);
      assert.equal(codeOf(await world.rest.call(AccountsService.method.getOwnAccount, {}, token)), 7);
      const shown = (await world.must(SessionsService.method.listSessions, {}, token)).sessions;
      assert.deepEqual([...new Set(shown.map(({ within }) => within))], [world.acme.uid]);
    });

    test("a removed link ends the logins through it at once, for the person and for the organization", async () => {
      for (const by of ["person", "page", "organization"] as const) {
        const holder = await person(`${by}@example.test`);
        await link(holder, `removed-by-${by}`);
        const token = await throughAcme(`removed-by-${by}`);
        const [shown] = await linksOf(holder.token);
        assert.deepEqual(
          [shown?.identityUid, shown?.organizationName, shown?.linkedIdentityUid],
          [uidOf(holder.token), "acme.test", personUid(`removed-by-${by}`)],
        );
        const { accountLinks } = await world.must(AccountLinksService.method.listAccountLinks, { organization: world.acme.uid });
        assert.ok(accountLinks.some(({ uid }) => uid === shown?.uid));
        const seq = await lastSeq(world);
        const remove = { uid: shown?.uid ?? "" };
        const stranger = await world.rest.call(AccountLinksService.method.removeAccountLink, remove, token);
        assert.equal(codeOf(stranger), 5);
        if (by === "page") {
          const visitor = world.visitor();
          const done = await act(visitor, await signIn(visitor, holder), "remove-link", { link: remove.uid });
          assert.match(done.text, /The link was removed/);
        } else {
          await world.must(AccountLinksService.method.removeAccountLink, remove, by === "person" ? holder.token : undefined);
        }
        const events = (await eventsAfter(world, seq)).filter(({ type }) => type.endsWith(".account.unlinked.v1"));
        assert.deepEqual(
          events.map(({ subject, group_uid }) => [subject, group_uid]),
          [[uidOf(holder.token), world.acme.uid]],
        );
        assert.equal(codeOf(await world.rest.call(SessionsService.method.listSessions, {}, token)), 16);
        assert.equal(codeOf(await world.rest.call(SessionsService.method.listSessions, {}, holder.token)), 0);
        assert.equal(uidOf(await throughAcme(`removed-by-${by}`)), personUid(`removed-by-${by}`));
      }
    });

    test("a directory that deactivates a linked person ends the sessions and rights in its organization, and no others", async () => {
      const holder = await person("scim@example.test");
      const { setActive } = await provision("scim");
      await link(holder, "scim");
      const through = await throughAcme("scim");

      await setActive(false);
      assert.equal(codeOf(await world.rest.call(SessionsService.method.listSessions, {}, through)), 16);
      assert.deepEqual([await reads(world.acme.uid, holder.token), await reads(world.orgUid, holder.token)], [false, true]);
      const refused = await world.visitor().walk(world.oauth({ idp_id: "acme.test" }), "scim");
      assert.match(refused.text, /directory has deactivated/);
      // Without the link, too: it is not a way around the directory.
      const [{ uid = "" } = {}] = await linksOf(holder.token);
      await world.must(AccountLinksService.method.removeAccountLink, { uid });
      assert.equal(await reads(world.acme.uid, holder.token), false);

      await setActive(true);
      assert.deepEqual([await reads(world.acme.uid, holder.token), await reads(world.orgUid, holder.token)], [true, true]);
      assert.equal(codeOf(await world.rest.call(SessionsService.method.listSessions, {}, through)), 16);
    });

    test("an administrator does not recover a person whom a directory has deactivated and who would return with more rights", async () => {
      const holder = await person("returning@example.test");
      const administrator = await person("administrator@example.test");
      for (const organization of [world.acme.uid, world.orgUid]) {
        const capabilities = [Capability.CAP_IAM_ACCOUNTS_RECOVER, Capability.CAP_IAM_GROUPS_LIST];
        const roleBinding = { identityUid: uidOf(administrator.token), roleUid: await world.role(organization, capabilities) };
        await world.must(RoleBindingsService.method.createRoleBinding, { parent: organization, roleBinding });
      }
      const { setActive } = await provision("returning");
      await link(holder, "returning");
      const roleUid = await world.role(world.acme.uid, [Capability.CAP_IAM_GROUPS_DELETE]);
      const roleBinding = { identityUid: uidOf(holder.token), roleUid };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.acme.uid, roleBinding });
      await setActive(false);
      assert.equal(await reads(world.acme.uid, holder.token), false);
      const recover = { uid: uidOf(holder.token) };
      const refused = await world.rest.call(AccountsService.method.createAccountRecovery, recover, administrator.token);
      assert.equal(codeOf(refused), 7);
    });

    test("a sign-in is linked with one account, an account with one sign-in, and a person may decline", async () => {
      const [first, second] = [await person("first@example.test"), await person("second@example.test")];
      const visitor = world.visitor();
      const declined = await submitTo(visitor, await begin(visitor, first, "shared"), "/oauth/account/connect", { answer: "no" });
      assert.match(declined.text, /Nothing was linked/);
      await link(first, "shared");
      assert.equal((await signIn(world.visitor(), first)).text.includes(LINK_FORM), false);
      assert.match((await link(second, "shared")).text, /linked with another account/);
      assert.deepEqual(await linksOf(second.token), []);
    });

    test("a sign-in that has roles in another organization is not linked", async () => {
      const holder = await person("elsewhere@example.test");
      await throughAcme("elsewhere");
      await world.must(RoleBindingsService.method.createRoleBinding, {
        parent: world.orgUid,
        roleBinding: { identityUid: personUid("elsewhere"), roleUid: await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]) },
      });
      assert.match((await link(holder, "elsewhere")).text, /has roles in other organizations/);
      assert.equal(uidOf(await throughAcme("elsewhere")), personUid("elsewhere"));
    });

    test("neither another browser nor a page from before a change of the account finishes a link", async () => {
      const holder = await person("stolen@example.test");
      const visitor = world.visitor();
      const question = await begin(visitor, holder, "stolen");
      const stolen = await submitTo(world.visitor(), question, "/oauth/account/connect", { answer: "yes" });
      assert.match(stolen.text, /opened in another browser/);
      const changed = world.visitor();
      await act(changed, await signIn(changed, holder), "end-sessions", {});
      const late = await submitTo(visitor, question, "/oauth/account/connect", { answer: "yes" });
      assert.match(late.text, /has changed in the meantime/);
      assert.equal(uidOf(await throughAcme("stolen")), personUid("stolen"));
    });

    // The last test, because the providers stay.
    test("the removal of a link in an organization with thousands of identity providers lets other requests run", async () => {
      const holder = await person("many-providers@example.test");
      await link(holder, "many-providers");
      const token = await throughAcme("many-providers");
      await world.store.transaction(async (db) => {
        const row = await db.selectFrom("identity_provider").selectAll().where("uid", "=", world.acme.provider).executeTakeFirstOrThrow();
        for (let i = 0; i < 30; i++) {
          const rows = Array.from({ length: 100 }, () => ({ ...row, issuer: "https://unused.example", uid: newUid(world.acme.uid) }));
          await db.insertInto("identity_provider").values(rows).execute();
        }
      });
      const [{ uid = "" } = {}] = await linksOf(holder.token);
      await assertYielding("removing a link", () => world.must(AccountLinksService.method.removeAccountLink, { uid }));
      assert.equal(codeOf(await world.rest.call(SessionsService.method.listSessions, {}, token)), 16);
    });
  });
}
