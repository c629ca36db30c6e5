/** Mails about changes to accounts of this server, over SMTP. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import {
  createHolder,
  createWithPassword,
  type Holder,
  inviteTo,
  nextCode,
  PASSWORD,
  signInWithPassword,
  submitTo,
  tokenOf,
} from "../harness/sign-in/account-visitor.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import { type MailServer, startMailServer, textOfMail } from "../harness/smtp-server.ts";
import { until } from "../harness/wait.ts";

const NEW_PASSWORD = "a completely different password";

describe("mails about accounts", () => {
  const world = {} as SignInWorld;
  let mail: MailServer;
  before(async () => {
    mail = await startMailServer();
    const env = { HOLT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, HOLT_SMTP_FROM: "holt@holt.test" };
    Object.assign(world, await startSignInWorld({ hasOperator: false, env }));
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
    await mail[Symbol.asyncDispose]();
  });

  const uidOf = ({ token }: Holder) => claimsOf(token).sub ?? "";
  const textsTo = (email: string) => mail.received.filter(({ to }) => to.includes(email)).map(textOfMail);
  const noticesTo = (email: string) => textsTo(email).filter((text) => text.includes("Account: "));

  /** Waits until the queue of mails is empty. */
  async function sent(): Promise<void> {
    const waiting = () => world.store.reader.selectFrom("mail").select("uid").where("next_attempt_time", "is not", null).execute();
    await until(async () => (await waiting()).length === 0);
  }

  /** Waits for the notices about what `act` does. @returns their first lines */
  async function noticesOf({ email }: Holder, act: () => Promise<unknown>): Promise<string[]> {
    await sent();
    const known = noticesTo(email).length;
    await act();
    await sent();
    return noticesTo(email)
      .slice(known)
      .map((text) => text.split(/\r?\n/, 1)[0] ?? "")
      .toSorted();
  }

  const invited = async (email: string) => createHolder(world, email, await inviteTo(world, { email }));

  test("a recovery code, a recovery link and its use are mailed with the time and advice", async () => {
    const holder = await invited("recovery@example.test");
    const [code = "", second = ""] = holder.recoveryCodes;
    const signIn = () => signInWithPassword(world, world.visitor(), { ...holder, code });
    assert.deepEqual(await noticesOf(holder, signIn), ["A recovery code of your account was used."]);
    const [notice = ""] = noticesTo(holder.email);
    assert.ok(notice.includes(`Time: ${world.clock.now().toISOString().slice(0, 16).replace("T", " ")} UTC`), notice);
    assert.ok(notice.includes("If it was not you"), notice);
    assert.ok(notice.includes(`${world.baseUrl}/oauth/account`), notice);
    let url = "";
    const make = async () => {
      url = (await world.must(AccountsService.method.createAccountRecovery, { uid: uidOf(holder) })).url;
    };
    assert.match((await noticesOf(holder, make)).join(), /^An administrator or the operator made a link/);
    const use = async () => {
      const visitor = world.visitor();
      await submitTo(visitor, await visitor.visit(url), "/oauth/account/set-up", { password: NEW_PASSWORD, code: second });
    };
    const [used, recovered, ...others] = await noticesOf(holder, use);
    assert.equal(used, "A recovery code of your account was used.");
    assert.match(recovered ?? "", /^Your account was recovered with a recovery link/);
    assert.deepEqual(others, []);
    const secrets = [code, second, url, PASSWORD, NEW_PASSWORD];
    assert.equal(
      noticesTo(holder.email).some((text) => secrets.some((secret) => text.includes(secret))),
      false,
    );
  });

  test("changes of the password and of the recovery codes are mailed, from the page and from the API", async () => {
    const holder = await invited("changes@example.test");
    const visitor = world.visitor();
    const attempt = { ...holder, code: nextCode(world, holder.secret) };
    let page = await signInWithPassword(world, visitor, attempt, "/oauth/account");
    const change = async (fields: Readonly<Record<string, string>>) => {
      page = await submitTo(visitor, page, "/oauth/account/change", fields);
      assert.equal(page.status, 200, page.text);
    };
    const proof = () => ({ password: NEW_PASSWORD, code: nextCode(world, holder.secret) });
    const changePassword = () => change({ action: "password", password: NEW_PASSWORD });
    assert.deepEqual(await noticesOf(holder, changePassword), ["The password of your account was changed."]);
    const replaceCodes = () => change({ action: "recovery-codes" });
    assert.deepEqual(await noticesOf(holder, replaceCodes), ["The recovery codes of your account were replaced."]);
    page = await submitTo(visitor, page, "/oauth/account/continue");
    assert.deepEqual(await noticesOf(holder, () => change({ action: "end-sessions" })), []);
    const last = world.store.reader.selectFrom("outbox").select("type").where("subject", "=", uidOf(holder)).orderBy("seq", "desc");
    assert.match((await last.executeTakeFirstOrThrow()).type, /\.account\.sessions_ended\.v1$/);
    const token = tokenOf(await signInWithPassword(world, world.visitor(), { ...proof(), email: holder.email }));
    const regenerate = () => world.must(AccountsService.method.regenerateRecoveryCodes, proof(), token);
    assert.deepEqual(await noticesOf(holder, regenerate), ["The recovery codes of your account were replaced."]);
    const changeByApi = () => world.must(AccountsService.method.changePassword, { ...proof(), newPassword: PASSWORD }, token);
    assert.deepEqual(await noticesOf(holder, changeByApi), ["The password of your account was changed."]);
    const disable = () => world.must(AccountsService.method.disableAccount, { uid: uidOf(holder) });
    assert.match((await noticesOf(holder, disable)).join(), /^An administrator disabled your account/);
  });

  test("mails that others cause do not use up the limit for notices of a confirmed address", async () => {
    const holder = await invited("flooded@example.test");
    await sent();
    const link = /http\S+\/oauth\/account\/confirm\?token=\S+/.exec(textsTo(holder.email).join("\n"))?.[0] ?? "";
    const visitor = world.visitor();
    await submitTo(visitor, await visitor.visit(link), "/oauth/account/confirmed");
    for (let count = 0; count < 12; count++) await inviteTo(world, { email: holder.email });
    const make = () => world.must(AccountsService.method.createAccountRecovery, { uid: uidOf(holder) });
    assert.equal((await noticesOf(holder, make)).length, 1);
    assert.equal(textsTo(holder.email).filter((text) => text.includes("You are invited")).length < 12, true);
  });

  test("the owner of an address learns by mail that another account has it, and the other person learns nothing", async () => {
    const owner = await invited("shared@example.test");
    const visitor = world.visitor();
    const invite = await inviteTo(world);
    const create = () => createWithPassword(world, visitor, { invite, email: "Shared@example.test", password: NEW_PASSWORD });
    let other: Awaited<ReturnType<typeof create>> | undefined;
    const notices = await noticesOf(owner, async () => {
      other = await create();
    });
    assert.match(notices.join(), /^Another account was created, or got a password, with the email address/);
    const free = await createWithPassword(world, world.visitor(), { invite: await inviteTo(world), email: "free@example.test" });
    const [taken = "", untaken = ""] = [other?.codes, free.codes].map((page) =>
      page?.text.replace(/<li>.*?<\/li>/g, "").replace(/name="handle" value="[^"]*"/, ""),
    );
    assert.equal(taken, untaken);
    // Both sign in with the address, each with the own password and app.
    const signIn = (password: string, secret: string) =>
      signInWithPassword(world, world.visitor(), { email: owner.email, password, code: nextCode(world, secret) });
    const others = claimsOf(tokenOf(await signIn(NEW_PASSWORD, other?.secret ?? ""))).sub;
    assert.equal(claimsOf(tokenOf(await signIn(PASSWORD, owner.secret))).sub, uidOf(owner));
    assert.notEqual(others, uidOf(owner));
    assert.equal((await signIn(NEW_PASSWORD, owner.secret)).status, 401);
    const [code = ""] = owner.recoveryCodes;
    const recovered = await signInWithPassword(world, world.visitor(), { ...owner, code });
    assert.equal(claimsOf(tokenOf(recovered)).sub, uidOf(owner));
  });

  test("an address that a person wrote and nobody confirmed gets no notices", async () => {
    const holder = await createHolder(world, "typed@example.test");
    const make = () => world.must(AccountsService.method.createAccountRecovery, { uid: uidOf(holder) });
    assert.deepEqual(await noticesOf(holder, make), []);
  });
});
