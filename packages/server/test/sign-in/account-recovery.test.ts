/** Recovering, disabling and reading accounts of this server by the API and by links. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import {
  alertOf,
  createHolder,
  type Holder,
  inviteTo,
  nextCode,
  PASSWORD,
  recoveryCodesOf,
  secretOf,
  signInWithPassword,
  submitPassword,
  submitTo,
  tokenOf,
} from "../harness/sign-in/account-visitor.ts";
import { claimsOf, PROGRAM, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import type { Answer } from "../harness/sign-in/visitor.ts";

const NEW_PASSWORD = "a completely different password";
const RECOVER = AccountsService.method.createAccountRecovery;

for (const store of storeNames) {
  describe(`recovery of accounts on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store, hasOperator: false })));
    after(() => world[Symbol.asyncDispose]());

    const uidOf = ({ token }: Holder) => claimsOf(token).sub ?? "";
    const signIn = (holder: Holder, password: string, secret = holder.secret) =>
      signInWithPassword(world, world.visitor(), { email: holder.email, password, code: nextCode(world, secret) });
    const call = (method: Parameters<typeof world.rest.call>[0], request: Record<string, unknown>, token = world.token) =>
      world.rest.call(method, request, token).then(codeOf);

    /** A person whose role in the group lets it recover accounts. */
    async function administrator(email: string, group: string, capabilities: readonly Capability[]): Promise<string> {
      const { token, ...holder } = await createHolder(world, email, await inviteTo(world, { parent: group }));
      const roleUid = await world.role(group, capabilities);
      const roleBinding = { identityUid: uidOf({ ...holder, token }), roleUid };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: group, roleBinding });
      return token;
    }

    test("a link replaces the password, keeps the authenticator app, works once and is an event", async () => {
      const holder = await createHolder(world, "link@example.test");
      const { url } = await world.must(RECOVER, { uid: uidOf(holder) });
      const visitor = world.visitor();
      const asked = await visitor.visit(url);
      const wrong = await submitTo(visitor, asked, "/oauth/account/set-up", { password: NEW_PASSWORD, code: "000000" });
      assert.equal(wrong.status, 400);
      const done = await submitTo(visitor, wrong, "/oauth/account/set-up", {
        password: NEW_PASSWORD,
        code: nextCode(world, holder.secret),
      });
      assert.equal(recoveryCodesOf(done).length, 10);
      assert.equal((await signIn(holder, PASSWORD)).status, 401);
      assert.equal((await signIn(holder, NEW_PASSWORD)).status, 200);
      assert.equal((await world.visitor().visit(url)).status, 404);
      const rows = world.store.reader.selectFrom("outbox").select("type").where("subject", "=", uidOf(holder)).orderBy("seq");
      const types = (await rows.execute()).map(({ type }) => type.replace(/^.*\.account\./, ""));
      assert.deepEqual(types, ["created.v1", "recovery_created.v1", "recovered.v1"]);
    });

    test("only a link that says so replaces the authenticator app", async () => {
      const holder = await createHolder(world, "reset@example.test");
      const { url } = await world.must(RECOVER, { uid: uidOf(holder), resetSecondFactor: true });
      const visitor = world.visitor();
      const app = await submitTo(visitor, await visitor.visit(url), "/oauth/account/set-up", { password: NEW_PASSWORD });
      const secret = secretOf(app);
      await submitTo(visitor, app, "/oauth/account/app", { code: nextCode(world, secret) });
      assert.equal((await signIn(holder, NEW_PASSWORD)).status, 401);
      assert.equal((await signIn(holder, NEW_PASSWORD, secret)).status, 200);
    });

    test("a recovery code that is entered with a link that was replaced meanwhile stays good", async () => {
      const holder = await createHolder(world, "replaced@example.test");
      const uid = uidOf(holder);
      const [code = ""] = holder.recoveryCodes;
      const visitor = world.visitor();
      const setUp = (page: Answer) => submitTo(visitor, page, "/oauth/account/set-up", { password: NEW_PASSWORD, code });
      const asked = await visitor.visit((await world.must(RECOVER, { uid })).url);
      const { url } = await world.must(RECOVER, { uid });
      assert.equal((await setUp(asked)).status, 404);
      assert.equal(recoveryCodesOf(await setUp(await visitor.visit(url))).length, 10);
    });

    test("a new link voids the one before, and each expires", async () => {
      const holder = await createHolder(world, "expiry@example.test");
      const first = await world.must(RECOVER, { uid: uidOf(holder) });
      const second = await world.must(RECOVER, { uid: uidOf(holder), ttl: { seconds: 60n } });
      assert.equal((await world.visitor().visit(first.url)).status, 404);
      assert.equal((await world.visitor().visit(second.url)).status, 200);
      world.clock.advance(61_000);
      assert.equal((await world.visitor().visit(second.url)).status, 404);
      assert.equal(await call(RECOVER, { uid: uidOf(holder), ttl: { seconds: 86_401n } }), Code.INVALID_ARGUMENT);
    });

    test("an open page of a recovery ends when the account changes, and disabling the account voids its link", async () => {
      const holder = await createHolder(world, "stale@example.test");
      const { url } = await world.must(RECOVER, { uid: uidOf(holder) });
      const visitor = world.visitor();
      const page = await visitor.visit(url);
      world.clock.advance(1000);
      await world.must(AccountsService.method.disableAccount, { uid: uidOf(holder) });
      assert.equal((await world.visitor().visit(url)).status, 404);
      await world.must(AccountsService.method.enableAccount, { uid: uidOf(holder) });
      const late = await submitTo(visitor, page, "/oauth/account/set-up", { password: NEW_PASSWORD, code: nextCode(world, holder.secret) });
      assert.match(alertOf(late) || late.text, /the account has changed meanwhile/);
      assert.equal((await signIn(holder, PASSWORD)).status, 200);
    });

    test("a link of an administrator is void when the rights of the person change", async () => {
      const holder = await createHolder(world, "grown@example.test");
      const { url } = await world.must(RECOVER, { uid: uidOf(holder) });
      const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_DELETE]);
      const roleBinding = { identityUid: uidOf(holder), roleUid };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding });
      assert.equal((await world.visitor().visit(url)).status, 404);
    });

    test("a new account joins an organization that requires a second factor", async () => {
      const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "two-factors" } });
      await world.must(SignInSettingsService.method.updateSignInSettings, { signInSettings: { uid, secondFactorRequired: true } });
      const holder = await createHolder(world, "factors@example.test", await inviteTo(world, { parent: uid }));
      assert.equal(await call(GroupsService.method.getGroup, { uid }, holder.token), 0);
    });

    test("a recovery and a recovery code end the sessions of the person", async () => {
      for (const recover of [
        async (holder: Holder) => {
          const { url } = await world.must(RECOVER, { uid: uidOf(holder) });
          const visitor = world.visitor();
          const fields = { password: NEW_PASSWORD, code: nextCode(world, holder.secret) };
          await submitTo(visitor, await visitor.visit(url), "/oauth/account/set-up", fields);
        },
        async (holder: Holder) =>
          void (await signInWithPassword(world, world.visitor(), { ...holder, code: holder.recoveryCodes[0] ?? "" })),
      ]) {
        const holder = await createHolder(world, `session${world.clock.now().getTime()}@example.test`);
        const [refresh, other] = [await refreshTokenOf(holder), await refreshTokenOf(holder)];
        const renew = (token: string) =>
          fetch(`${world.baseUrl}/sts/exchange_refresh_token`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
        assert.equal((await renew(other)).status, 200);
        await recover(holder);
        assert.equal((await renew(refresh)).status, 401);
        assert.equal(await call(GroupsService.method.listGroups, {}, holder.token), Code.UNAUTHENTICATED, "the access token");
      }
    });

    async function refreshTokenOf(holder: Holder): Promise<string> {
      const visitor = world.visitor();
      const start = world.oauth({ redirect: PROGRAM, create_refresh_token: "true" });
      const attempt = { email: holder.email, password: holder.password, code: nextCode(world, holder.secret) };
      const question = await submitPassword(visitor, await visitor.visit(start), attempt);
      const leaving = await submitTo(visitor, question, "/oauth/answer", { answer: "yes" });
      const url = /content="0; url=([^"]*)"/.exec(leaving.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
      return new URL(url).searchParams.get("refresh_token") ?? assert.fail(leaving.text);
    }

    test("an administrator recovers only people of its organizations alone, with no more rights than its own", async () => {
      const rights = [Capability.CAP_IAM_ACCOUNTS_RECOVER, Capability.CAP_IAM_GROUPS_LIST];
      const token = await administrator("admin@example.test", world.orgUid, rights);
      const recover = async (holder: Holder) => call(RECOVER, { uid: uidOf(holder) }, token);
      const plain = await createHolder(world, "plain@example.test");
      assert.equal(await recover(plain), 0);
      const elsewhere = await createHolder(world, "elsewhere@example.test", await inviteTo(world, { parent: world.acme.uid }));
      assert.equal(await recover(elsewhere), Code.NOT_FOUND);
      const visitor = world.visitor();
      const path = `/oauth?${new URLSearchParams({ invite: await inviteTo(world, { parent: world.acme.uid }) })}`;
      const question = await signInWithPassword(world, visitor, { ...plain, code: nextCode(world, plain.secret) }, path);
      await submitTo(visitor, question, "/oauth/answer", { answer: "yes" });
      assert.equal(await recover(plain), Code.PERMISSION_DENIED, "a member of two organizations");
      const powerful = await createHolder(world, "powerful@example.test");
      const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_DELETE]);
      const roleBinding = { identityUid: uidOf(powerful), roleUid };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding });
      assert.equal(await recover(powerful), Code.PERMISSION_DENIED, "more rights than the administrator");
      assert.equal(await call(RECOVER, { uid: uidOf(powerful) }, plain.token), Code.NOT_FOUND, "without the capability");
    });

    test("a disabled account loses its sessions with the next request, and cannot sign in until it is enabled", async () => {
      const holder = await createHolder(world, "disabled@example.test");
      const uid = uidOf(holder);
      const list = () => call(GroupsService.method.listGroups, {}, holder.token);
      const { url } = await world.must(RECOVER, { uid });
      assert.equal(await list(), 0);
      await world.must(AccountsService.method.disableAccount, { uid });
      assert.equal(await list(), Code.UNAUTHENTICATED);
      assert.match(alertOf(await signIn(holder, PASSWORD)), /disabled/);
      assert.equal((await world.visitor().visit(url)).status, 404);
      await world.must(AccountsService.method.enableAccount, { uid });
      assert.equal(await list(), Code.UNAUTHENTICATED, "the session stays ended");
      assert.equal((await signIn(holder, PASSWORD)).status, 200);
    });

    test("an administrator neither recovers nor enables a disabled person with more rights", async () => {
      const rights = [Capability.CAP_IAM_ACCOUNTS_RECOVER, Capability.CAP_IAM_ACCOUNTS_DISABLE, Capability.CAP_IAM_GROUPS_LIST];
      const token = await administrator("helper@example.test", world.orgUid, rights);
      const enable = (uid: string) => call(AccountsService.method.enableAccount, { uid }, token);
      const powerful = uidOf(await createHolder(world, "powerful-disabled@example.test"));
      const roleBinding = { identityUid: powerful, roleUid: await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_DELETE]) };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding });
      const plain = uidOf(await createHolder(world, "plain-disabled@example.test"));
      for (const uid of [powerful, plain]) await world.must(AccountsService.method.disableAccount, { uid });
      assert.equal(await call(RECOVER, { uid: powerful }, token), Code.PERMISSION_DENIED);
      assert.equal(await enable(powerful), Code.PERMISSION_DENIED);
      assert.equal(await call(RECOVER, { uid: plain }, token), 0);
      assert.equal(await enable(plain), 0);
    });

    test("people read their account and change the password with the old one and a code", async () => {
      const holder = await createHolder(world, "api@example.test");
      const { token } = holder;
      const { hasPassword, recoveryCodesLeft, passkeys } = await world.must(AccountsService.method.getOwnAccount, {}, token);
      assert.deepEqual([hasPassword, recoveryCodesLeft, passkeys], [true, 10, []]);
      const change = (password: string, code: string, newPassword = NEW_PASSWORD) =>
        call(AccountsService.method.changePassword, { password, code, newPassword }, token);
      assert.equal(await change("wrong password", nextCode(world, holder.secret)), Code.PERMISSION_DENIED);
      assert.equal(await change(PASSWORD, "000000"), Code.PERMISSION_DENIED);
      assert.equal(await change(PASSWORD, nextCode(world, holder.secret), "short"), Code.INVALID_ARGUMENT);
      assert.equal(await change(PASSWORD, nextCode(world, holder.secret)), 0);
      const done = await signIn(holder, NEW_PASSWORD);
      const proof = { password: NEW_PASSWORD, code: nextCode(world, holder.secret) };
      const { codes } = await world.must(AccountsService.method.regenerateRecoveryCodes, proof, tokenOf(done));
      assert.equal(
        codes.some((code) => holder.recoveryCodes.includes(code)),
        false,
      );
      const stored = await world.store.reader.selectFrom("outbox").select("data").where("type", "like", "%.account.%").execute();
      assert.equal(
        stored.some(({ data }) => codes.some((code) => data.includes(code)) || data.includes(NEW_PASSWORD)),
        false,
      );
    });
  });
}
