/** Accounts of this server with a password and an authenticator app, over HTTP. Passkeys are in passkeys.test.ts. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { errorOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import {
  alertOf,
  createHolder,
  createWithPassword,
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
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

for (const store of storeNames) {
  describe(`accounts with a password on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store, hasOperator: false })));
    after(() => world[Symbol.asyncDispose]());

    const groupNames = async (token: string) =>
      (await world.must(GroupsService.method.listGroups, {}, token)).groups.map(({ name }) => name).sort();
    const eventTypes = async (uid: string) => {
      const rows = await world.store.reader.selectFrom("outbox").select("type").where("subject", "=", uid).orderBy("seq").execute();
      return rows.map(({ type }) => type.split(".").slice(-3).join("."));
    };
    const pageOf = (holder: { email: string; password: string }, code: string, path?: string) =>
      signInWithPassword(world, world.visitor(), { ...holder, code }, path);

    test("an invited person creates an account, joins, and signs in again with a code", async () => {
      const visitor = world.visitor();
      const invite = await inviteTo(world, { singleUse: true });
      const offer = await visitor.visit(world.oauth({ invite }));
      assert.match(offer.text, /Create an account/);
      const { codes, secret } = await createWithPassword(world, visitor, { invite, email: "ada@example.test" });
      assert.equal(new Set(recoveryCodesOf(codes)).size, 10);
      const done = await submitTo(visitor, codes, "/oauth/account/continue");
      const token = tokenOf(done);
      assert.deepEqual(await groupNames(token), ["my-org"]);
      const { act, sub, email } = claimsOf(token) as unknown as { act: Record<string, string>; sub: string; email: unknown };
      assert.deepEqual([act.iss, act.sub?.startsWith("account-"), email], [world.baseUrl, true, undefined]);
      assert.deepEqual(await eventTypes(sub), ["account.created.v1"]);
      const again = await pageOf({ email: "Ada@Example.test", password: PASSWORD }, nextCode(world, secret));
      assert.equal(claimsOf(tokenOf(again)).sub, sub);
    });

    test("an invite that was used creates no second account", async () => {
      const invite = await inviteTo(world, { singleUse: true });
      await createHolder(world, "first@example.test", invite);
      const late = await world.visitor().visit(`${world.baseUrl}/oauth/account/new?${new URLSearchParams({ invite })}`);
      assert.equal(late.status, 404);
    });

    test("the pages of a new account name the product and the organization with its logo, and lead on to the console", async () => {
      const { uid } = world.acme;
      const logo = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
      await world.must(SignInSettingsService.method.updateSignInSettings, { signInSettings: { uid, displayName: "ACME Inc.", logo } });
      const invite = await inviteTo(world, { parent: uid });
      const visitor = world.visitor();
      for (const path of ["/oauth", "/oauth/account/new"]) {
        const { text } = await visitor.visit(`${world.baseUrl}${path}?${new URLSearchParams({ invite })}`);
        assert.match(
          text,
          /<p class="brand"><img [^>]*> Holt<\/p>\n<p class="organization"><img src="[^"]*logo[^"]*" alt=""> ACME Inc\.<\/p>/,
        );
      }
      const { codes, secret } = await createWithPassword(world, visitor, { invite, email: "brand@example.test" });
      const done = await submitTo(visitor, codes, "/oauth/account/continue");
      const attempt = { email: "brand@example.test", password: PASSWORD, code: nextCode(world, secret) };
      const account = await signInWithPassword(world, world.visitor(), attempt, "/oauth/account");
      for (const { text } of [done, account]) assert.match(text, /<a href="\/">Open Holt<\/a>/);
    });

    test("an invite for an address creates an account with this address only", async () => {
      const invite = await inviteTo(world, { email: "invited@example.test" });
      const visitor = world.visitor();
      const { codes } = await createWithPassword(world, visitor, { invite, email: "other@example.test" });
      const { sub } = claimsOf(tokenOf(await submitTo(visitor, codes, "/oauth/account/continue")));
      const account = world.store.reader
        .selectFrom("local_account")
        .select(["email", "email_within"])
        .where("identity_uid", "=", sub ?? "");
      assert.deepEqual(await account.executeTakeFirst(), { email: "invited@example.test", email_within: world.orgUid });
    });

    test("an invite does not prove an address that only another organization invited", async () => {
      const holder = await createHolder(world, "known@example.test", await inviteTo(world, { email: "known@example.test" }));
      const other = await inviteTo(world, { email: "known@example.test", parent: world.acme.uid });
      const page = await signInWithPassword(
        world,
        world.visitor(),
        { ...holder, code: nextCode(world, holder.secret) },
        `/oauth?${new URLSearchParams({ invite: other })}`,
      );
      assert.equal(page.status, 403);
    });

    test("a person with an account joins another organization by an invite after a question", async () => {
      const holder = await createHolder(world, "two@example.test");
      const visitor = world.visitor();
      const invite = await inviteTo(world, { parent: world.acme.uid });
      const attempt = { ...holder, code: nextCode(world, holder.secret) };
      const question = await signInWithPassword(world, visitor, attempt, `/oauth?${new URLSearchParams({ invite })}`);
      assert.match(question.text, /<h1>Join\?<\/h1>/);
      const done = await submitTo(visitor, question, "/oauth/answer", { answer: "yes" });
      assert.deepEqual(await groupNames(tokenOf(done)), ["acme.test", "my-org"]);
    });

    test("a device gets tokens of a person who signs in with an account", async () => {
      const holder = await createHolder(world, "device@example.test");
      const post = async (path: string, form: Readonly<Record<string, string>>) =>
        (await (await fetch(world.baseUrl + path, { method: "POST", body: new URLSearchParams(form) })).json()) as Record<string, string>;
      const { device_code = "", verification_uri_complete = "" } = await post("/oauth/device_authorization", { client_id: "holt-cli" });
      const visitor = world.visitor();
      const page = await visitor.visit(verification_uri_complete);
      const question = await submitPassword(visitor, page, { ...holder, code: nextCode(world, holder.secret) });
      assert.match(question.text, /holt-cli/);
      await submitTo(visitor, question, "/oauth/answer", { answer: "yes" });
      const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
      const { access_token = "" } = await post("/oauth/token", { grant_type, device_code, client_id: "holt-cli" });
      assert.equal(claimsOf(access_token).sub, claimsOf(holder.token).sub);
    });

    test("each code of the app and each recovery code works once, also for two sign-ins at the same time", async () => {
      const holder = await createHolder(world, "once@example.test");
      for (const code of [nextCode(world, holder.secret), holder.recoveryCodes[0] ?? ""]) {
        const pages = await Promise.all([pageOf(holder, code), pageOf(holder, code)]);
        assert.deepEqual(pages.map(({ status }) => status).sort(), [200, 401], code);
      }
    });

    test("a missing account, a wrong password and a wrong code get the same answer", async () => {
      const holder = await createHolder(world, "equal@example.test");
      const code = nextCode(world, holder.secret);
      const attempts = [
        { email: "missing@example.test", password: PASSWORD, code },
        { email: holder.email, password: "another long password", code },
        { email: holder.email, password: PASSWORD, code: "000000" },
      ];
      const answers = await Promise.all(attempts.map((attempt) => signInWithPassword(world, world.visitor(), attempt)));
      const plain = answers.map(({ status, text }) => [status, text.replaceAll(/name="handle" value="[^"]*"/g, "")]);
      assert.equal(plain[0]?.[0], 401);
      assert.deepEqual(plain[1], plain[0]);
      assert.deepEqual(plain[2], plain[0]);
    });

    test("after a wrong password, the page still shows the organization and offers its identity provider", async () => {
      const { uid } = world.acme;
      await createHolder(world, "again@example.test");
      await world.must(SignInSettingsService.method.updateSignInSettings, { signInSettings: { uid, displayName: "ACME again" } });
      for (const parameters of [{ organization: uid }, { invite: await inviteTo(world, { parent: uid }) }]) {
        const visitor = world.visitor();
        const first = await visitor.visit(world.oauth(parameters));
        const second = await submitPassword(visitor, first, { email: "again@example.test", password: PASSWORD, code: "000000" });
        assert.equal(second.status, 401);
        for (const { text } of [first, second])
          assert.deepEqual([/ACME again/.test(text), /Sign in with acme sso/.test(text)], [true, true]);
      }
    });

    test("after ten wrong attempts an address is refused for that name, whether the account exists or not", async () => {
      const holder = await createHolder(world, "guessed@example.test");
      for (const email of [holder.email, "nobody@example.test"]) {
        for (let count = 0; count < 10; count++)
          assert.equal((await pageOf({ email, password: "wrong password" }, "1")).status, 401, email);
        const refused = await pageOf({ email, password: PASSWORD }, nextCode(world, holder.secret));
        assert.equal(refused.status, 429, email);
      }
      world.clock.advance(15 * 60_000);
      assert.equal((await pageOf(holder, nextCode(world, holder.secret))).status, 200);
    });

    test("short and common passwords, and passwords that contain personal data, are refused with the reason", async () => {
      const visitor = world.visitor();
      const invite = await inviteTo(world);
      let page = await visitor.visit(`${world.baseUrl}/oauth/account/new?${new URLSearchParams({ invite })}`);
      const refusals = {
        short: /at least 12/,
        password12345: /attackers try first/,
        "margaret-the-great": /margaret/,
        "at-my-org-forever": /my-org/,
      };
      for (const [password, reason] of Object.entries(refusals)) {
        page = await submitTo(visitor, page, "/oauth/account/set-up", { name: "M", email: "margaret@example.test", password });
        assert.equal(page.status, 400);
        assert.match(alertOf(page), reason);
      }
    });

    test("the page of the account changes the password, makes new recovery codes and ends sessions", async () => {
      const holder = await createHolder(world, "own@example.test");
      const visitor = world.visitor();
      const opened = await signInWithPassword(world, visitor, { ...holder, code: nextCode(world, holder.secret) }, "/oauth/account");
      assert.match(opened.text, /<h1>Your account<\/h1>/);
      const replaced = "a completely different password";
      const changed = await submitTo(visitor, opened, "/oauth/account/change", { action: "password", password: replaced });
      assert.match(changed.text, /The password was changed/);
      const codes = await submitTo(visitor, changed, "/oauth/account/change", { action: "recovery-codes" });
      const [fresh = ""] = recoveryCodesOf(codes);
      assert.equal((await pageOf(holder, nextCode(world, holder.secret))).status, 401);
      const [old = ""] = holder.recoveryCodes;
      assert.equal((await pageOf({ ...holder, password: replaced }, old)).status, 401);
      assert.equal((await pageOf({ ...holder, password: replaced }, fresh)).status, 200);
    });

    test("a person who has lost the authenticator app signs in with a recovery code and sets up a new app", async () => {
      const { recoveryCodes, secret: lost, token, ...holder } = await createHolder(world, "lost@example.test");
      const visitor = world.visitor();
      const attempt = { ...holder, code: recoveryCodes[0] ?? "" };
      const page = await signInWithPassword(world, visitor, attempt, "/oauth/account");
      const app = await submitTo(visitor, page, "/oauth/account/change", { action: "app" });
      const secret = secretOf(app);
      const wrong = await submitTo(visitor, app, "/oauth/account/app", { code: nextCode(world, lost) });
      assert.equal(wrong.status, 400);
      assert.equal((await pageOf(holder, nextCode(world, secret))).status, 401, "the lost app counts until the new one is proven");
      assert.equal((await submitTo(visitor, wrong, "/oauth/account/app", { code: nextCode(world, secret) })).status, 200);
      assert.equal((await pageOf(holder, nextCode(world, lost))).status, 401);
      assert.equal((await pageOf(holder, nextCode(world, secret))).status, 200);
      const types = (await eventTypes(claimsOf(token).sub ?? "")).slice(1);
      assert.deepEqual(types, ["account.recovery_code_used.v1", "account.password_changed.v1"]);
    });

    test("a token of this server registers nobody", async () => {
      const { token } = await createHolder(world, "token@example.test");
      const { code } = errorOf(await world.rest.call(Auth.method.register, {}, token));
      assert.notEqual(code, 0);
    });

    test("the step of one browser cannot be used by another", async () => {
      const holder = await createHolder(world, "stolen@example.test");
      const page = await world.visitor().visit(`${world.baseUrl}/oauth`);
      const answer = await submitPassword(world.visitor(), page, { ...holder, code: nextCode(world, holder.secret) });
      assert.equal(answer.status, 400);
    });
  });
}

test("nobody can create an account while HOLT_LOCAL_ACCOUNTS is off", async () => {
  await using world = await startSignInWorld({ hasOperator: false, env: { HOLT_LOCAL_ACCOUNTS: "off" } });
  const invite = await inviteTo(world);
  const visitor = world.visitor();
  assert.doesNotMatch((await visitor.visit(world.oauth({ invite }))).text, /Create an account/);
  for (const path of ["/oauth/account", `/oauth/account/new?${new URLSearchParams({ invite })}`])
    assert.equal((await visitor.visit(world.baseUrl + path)).status, 404);
});
