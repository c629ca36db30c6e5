/** Links that the operator makes with `holtd account-link`, for the bootstrap owner and for others. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { runHoltd } from "../harness/holtd.ts";
import {
  createHolder,
  inviteTo,
  nextCode,
  PASSWORD,
  secretOf,
  signInWithPassword,
  submitTo,
  tokenOf,
} from "../harness/sign-in/account-visitor.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import { type MailServer, startMailServer, textOfMail } from "../harness/smtp-server.ts";
import { until } from "../harness/wait.ts";

describe("holtd account-link", () => {
  const world = {} as SignInWorld;
  let mail: MailServer;
  let mailEnv: Record<string, string>;
  before(async () => {
    mail = await startMailServer();
    mailEnv = { HOLT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, HOLT_SMTP_FROM: "holt@holt.test" };
    Object.assign(world, await startSignInWorld({ hasOperator: false, env: mailEnv }));
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
    await mail[Symbol.asyncDispose]();
  });

  const accountLink = (...args: readonly string[]) =>
    runHoltd(["account-link", ...args], { HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl, ...mailEnv });

  /** Sets up a password and an app by the link. @returns the key of the app */
  async function setUp(url: string, fields: Readonly<Record<string, string>>): Promise<string> {
    const visitor = world.visitor();
    const app = await submitTo(visitor, await visitor.visit(url), "/oauth/account/set-up", fields);
    const secret = secretOf(app);
    const codes = await submitTo(visitor, app, "/oauth/account/app", { code: nextCode(world, secret) });
    assert.match((await submitTo(visitor, codes, "/oauth/account/continue")).text, /<h1>Your account<\/h1>/);
    return secret;
  }

  test("the bootstrap owner gets an account and stays the same identity with the same rights", async () => {
    const { stdout, code } = await accountLink();
    assert.equal(code, 0);
    const email = "owner@example.test";
    const secret = await setUp(stdout.trim(), { email, password: PASSWORD });
    const attempt = { email, password: PASSWORD, code: nextCode(world, secret) };
    const token = tokenOf(await signInWithPassword(world, world.visitor(), attempt));
    assert.equal(claimsOf(token).sub, claimsOf(world.token).sub);
    assert.ok((await world.must(GroupsService.method.createGroup, { group: { name: "by-the-owner" } }, token)).uid);
    assert.equal((await world.must(AccountsService.method.getOwnAccount, {}, token)).hasPassword, true);
    assert.equal((await world.visitor().visit(stdout.trim())).status, 404, "the link was used");
  });

  test("the operator recovers a person by email address, and only with the option without a code", async () => {
    const holder = await createHolder(world, "person@example.test");
    const password = "a completely different password";
    const visitor = world.visitor();
    const kept = await visitor.visit((await accountLink("Person@example.test")).stdout.trim());
    assert.equal((await submitTo(visitor, kept, "/oauth/account/set-up", { password })).status, 400);
    const { stdout } = await accountLink("--reset-second-factor", "person@example.test");
    const secret = await setUp(stdout.trim(), { password });
    const attempt = { email: holder.email, password, code: nextCode(world, secret) };
    assert.equal(claimsOf(tokenOf(await signInWithPassword(world, world.visitor(), attempt))).sub, claimsOf(holder.token).sub);
  });

  test("a link of the operator is an event and a mail to the person", async () => {
    const email = "mailed@example.test";
    const holder = await createHolder(world, email, await inviteTo(world, { email }));
    assert.equal((await accountLink(email)).code, 0);
    const types = world.store.reader
      .selectFrom("outbox")
      .select("type")
      .where("subject", "=", claimsOf(holder.token).sub ?? "");
    const { type } = await types.orderBy("seq", "desc").executeTakeFirstOrThrow();
    assert.match(type, /\.account\.recovery_created\.v1$/);
    // The system's clock, by which the command works, is behind that of the test.
    await until(() => mail.received.some((each) => each.to.includes(email) && /operator made a link/.test(textOfMail(each))));
  });

  test("a person without an account gets no link", async () => {
    const { code, stderr } = await accountLink("nobody@example.test");
    assert.equal(code, 1);
    assert.match(stderr, /there is no account of/);
  });
});
