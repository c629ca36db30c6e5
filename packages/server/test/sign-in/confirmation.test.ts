import assert from "node:assert/strict";
import { test } from "node:test";
import { alertOf, createHolder, inviteTo, nextCode, signInWithPassword, submitTo, tokenOf } from "../harness/sign-in/account-visitor.ts";
import { claimsOf, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import { startMailServer, textOfMail } from "../harness/smtp-server.ts";

test("an account confirms its email address by the mailed link, once, and only after a question", async () => {
  await using mail = await startMailServer();
  const env = { HOLT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, HOLT_SMTP_FROM: "holt@holt.test" };
  await using world = await startSignInWorld({ hasOperator: false, env });
  const holder = await createHolder(world, "ada@example.test", await inviteTo(world));
  assert.equal(claimsOf(holder.token).email_verified, undefined);
  const [received] = await mail.take(1);
  assert.ok(received !== undefined);
  assert.deepEqual(received.to, ["ada@example.test"]);
  const link = /http\S+\/oauth\/account\/confirm\?token=\S+/.exec(textOfMail(received))?.[0] ?? "";
  const scanner = world.visitor();
  for (const _time of [1, 2]) assert.match((await scanner.visit(link)).text, /Confirm only if you created this account yourself/);
  const row = () => world.store.reader.selectFrom("local_account").select("email_verified_time").executeTakeFirstOrThrow();
  assert.equal((await row()).email_verified_time, null);
  const question = await scanner.visit(link);
  assert.match((await submitTo(scanner, question, "/oauth/account/confirmed")).text, /Address confirmed/);
  assert.notEqual((await row()).email_verified_time, null);
  assert.equal((await submitTo(scanner, question, "/oauth/account/confirmed")).status, 404);
  assert.equal((await scanner.visit(link)).status, 404);
  const again = await signInWithPassword(world, world.visitor(), { ...holder, code: nextCode(world, holder.secret) });
  const { email, email_verified } = claimsOf(tokenOf(again));
  assert.deepEqual([email, email_verified], ["ada@example.test", true]);
});

test("a confirmation link that has expired or was altered confirms nothing", async () => {
  await using mail = await startMailServer();
  const env = { HOLT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, HOLT_SMTP_FROM: "holt@holt.test" };
  await using world = await startSignInWorld({ hasOperator: false, env });
  await createHolder(world, "bob@example.test", await inviteTo(world));
  const [received] = await mail.take(1);
  assert.ok(received !== undefined);
  const link = /http\S+\/oauth\/account\/confirm\?token=\S+/.exec(textOfMail(received))?.[0] ?? "";
  const visitor = world.visitor();
  for (const altered of [link.slice(0, -3), `${link}x`, `${world.baseUrl}/oauth/account/confirm`])
    assert.equal((await visitor.visit(altered)).status, 404, altered);
  world.clock.advance(73 * 3_600_000);
  assert.equal((await visitor.visit(link)).status, 404);
});

test("the page of the account sends the confirmation again, at most as often as an address gets mails", async () => {
  await using mail = await startMailServer();
  const env = { HOLT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, HOLT_SMTP_FROM: "holt@holt.test" };
  await using world = await startSignInWorld({ hasOperator: false, env });
  const holder = await createHolder(world, "eve@example.test", await inviteTo(world));
  const visitor = world.visitor();
  let page = await signInWithPassword(world, visitor, { ...holder, code: nextCode(world, holder.secret) }, "/oauth/account");
  const again = async () => {
    page = await submitTo(visitor, page, "/oauth/account/change", { action: "confirm-address" });
    return page;
  };
  for (let count = 2; count <= 10; count++) assert.match((await again()).text, /The mail is on its way/);
  assert.match(alertOf(await again()), /too many within an hour/);
  const received = await mail.take(10);
  assert.equal(received.length, 10);
  const link = /http\S+\/oauth\/account\/confirm\?token=\S+/.exec(textOfMail(received[9] ?? assert.fail()))?.[0] ?? "";
  await submitTo(visitor, await visitor.visit(link), "/oauth/account/confirmed");
  const confirmed = await again();
  assert.equal(confirmed.text.includes("Send the mail that confirms it"), false);
});

test("the page of the account offers no confirmation without a mail server", async () => {
  await using world = await startSignInWorld({ hasOperator: false });
  const holder = await createHolder(world, "eve@example.test", await inviteTo(world));
  const attempt = { ...holder, code: nextCode(world, holder.secret) };
  const { text } = await signInWithPassword(world, world.visitor(), attempt, "/oauth/account");
  assert.match(text, /<h1>Your account<\/h1>/);
  assert.equal(text.includes("confirms it"), false);
});
