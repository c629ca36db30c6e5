import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { createMailer } from "../../src/mail/mail.ts";
import { createSmtpSender, SmtpFailure } from "../../src/mail/smtp.ts";
import { freePort } from "../harness/free-port.ts";
import { storeNames } from "../harness/harness.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { type MailServer, startMailServer, textOfMail } from "../harness/smtp-server.ts";
import { until } from "../harness/wait.ts";
import { type Caller, startWorld, type World } from "../harness/world.ts";

const FROM = "Holt <holt@holt.test>";
const MAIL = { to: "ann@example.com", subject: "Hello", text: "First.\n\nhttps://holt.test/a?b=1&c=<2>\n\nLast." };

const settings = ({ port }: { readonly port: number }) => ({ HOLT_SMTP_URL: `smtp://127.0.0.1:${port}`, HOLT_SMTP_FROM: FROM });

async function invite(world: World, email: string, parent = world.orgUid): Promise<string> {
  return inviteAs(world.owner, world, { roleUid: await builtInRole(world, "viewer"), email, parent });
}

interface Invitation {
  readonly roleUid: string;
  readonly email: string;
  readonly parent: string;
}

async function inviteAs({ token }: Caller, world: World, { parent, ...fields }: Invitation): Promise<string> {
  const groupInvite = { ...fields, ttl: { seconds: 3600n } };
  return (await world.must(GroupInvitesService.method.createGroupInvite, { parent, groupInvite }, token)).code;
}

function mails(world: World) {
  return world.store.reader.selectFrom("mail").selectAll().orderBy("create_time").execute();
}

for (const store of storeNames) {
  test(`an invite with an email address is mailed, and its code is not readable in the database (${store})`, async () => {
    await using server = await startMailServer();
    await using world = await startWorld({ store, env: settings(server) });
    const code = await invite(world, "ann@example.com");
    const [row] = await mails(world);
    assert.equal(row?.content?.includes(code) ?? false, false);
    const [mail] = await server.take(1);
    assert.ok(mail !== undefined);
    assert.deepEqual([mail.from, mail.to], ["holt@holt.test", ["ann@example.com"]]);
    assert.match(mail.message, /^From: Holt <holt@holt\.test>\r$/m);
    assert.ok(textOfMail(mail).includes(`${world.baseUrl}/oauth?invite=${encodeURIComponent(code)}`));
    await until(async () => (await mails(world)).every(({ content, next_attempt_time }) => content === null && next_attempt_time === null));
  });
}

test("a mail that was promised while the mail server was down is sent once it is back", async () => {
  const port = await freePort();
  await using world = await startWorld({ env: settings({ port }) });
  await invite(world, "ann@example.com");
  await until(async () => (await mails(world))[0]?.attempts === 1);
  await using server = await startMailServer({ port });
  world.clock.advance(60_000);
  assert.deepEqual((await server.take(1))[0]?.to, ["ann@example.com"]);
});

test("an address that the mail server refuses for good is given up, and one that it refuses for now is tried again", async () => {
  let isBusy = true;
  const refuse = (address: string) => (address.startsWith("gone") ? 550 : isBusy ? 450 : undefined);
  await using server = await startMailServer({ refuse });
  await using world = await startWorld({ env: settings(server) });
  await invite(world, "gone@example.com");
  await until(async () => (await mails(world))[0]?.next_attempt_time === null);
  await invite(world, "busy@example.com");
  await until(async () => (await mails(world)).some(({ attempts }) => attempts === 1));
  isBusy = false;
  world.clock.advance(60_000);
  const received = await server.take(1);
  assert.deepEqual(
    received.map(({ to }) => to),
    [["busy@example.com"]],
  );
});

test("a mail whose link has expired is not sent", async () => {
  let isBusy = true;
  await using server = await startMailServer({ refuse: () => (isBusy ? 450 : undefined) });
  await using world = await startWorld({ env: settings(server) });
  await invite(world, "late@example.com");
  await until(async () => (await mails(world))[0]?.attempts === 1);
  isBusy = false;
  world.clock.advance(2 * 3_600_000);
  await until(async () => (await mails(world))[0]?.next_attempt_time === null);
  assert.equal(server.received.length, 0);
});

test("without a mail server, an invite with an email address only returns its code", async () => {
  await using world = await startWorld();
  assert.notEqual(await invite(world, "ann@example.com"), "");
  assert.deepEqual(await mails(world), []);
});

test("one address receives at most ten mails within an hour", async () => {
  await using server = await startMailServer();
  await using world = await startWorld({ env: settings(server) });
  for (let count = 0; count < 12; count++) await invite(world, count % 2 === 0 ? "ann@example.com" : "Ann@Example.com");
  assert.equal((await mails(world)).length, 10);
});

test("organizations together reach the limits of a mailbox and of the installation, also if they are deleted", async () => {
  await using server = await startMailServer();
  await using world = await startWorld({ env: { ...settings(server), HOLT_MAX_MAILS_PER_HOUR: "15" } });
  const tags = ["", "+a", "+b+c", "+d"];
  for (let count = 0; count < 12; count++) {
    const organization = await world.group("", `founded-${count}`);
    await invite(world, `ann${tags[count % tags.length]}@example.com`, organization);
    if (count % 2 === 0) await world.must(GroupsService.method.deleteGroup, { uid: organization });
  }
  assert.equal((await mails(world)).length, 10);
  for (let count = 0; count < 8; count++) await invite(world, `person-${count}@example.com`, await world.group("", `further-${count}`));
  assert.equal((await mails(world)).length, 15);
  const { uid } = await world.robot(world.orgUid);
  await world.bind(uid, await builtInRole(world, "owner"), world.orgUid);
  const roleUid = await builtInRole(world, "viewer");
  world.clock.advance(3_600_000);
  // The owner's token has expired.
  await inviteAs(await world.signIn(uid), world, { roleUid, email: "later@example.com", parent: world.orgUid });
  assert.equal((await mails(world)).length, 16);
});

test("a mail is not promised to anything but one address", async () => {
  const mailer = createMailer({ seal: () => "", open: () => "", hash: () => "" }, () => {});
  const db = undefined as never;
  for (const to of ["a@b.c\r\nBcc: x@y.z", "a@b.c, x@y.z", "<a@b.c>", '"a"@b.c', "a@b.c (x@y.z)", "a b@c.d", "a", ""])
    assert.equal(await mailer.append(db, { ...MAIL, to, now: new Date() }), false, to);
});

async function sendTo(server: MailServer, url: string, mail = MAIL): Promise<void> {
  await createSmtpSender({ smtpUrl: url.replace("PORT", String(server.port)), smtpFrom: FROM }, { ca: server.ca }).send("1a2b", mail);
}

test("mails travel over TLS and with the password where the mail server asks for both", async () => {
  await using starting = await startMailServer({ password: "pass word/", hasStartTls: true });
  await sendTo(starting, "smtp://holt:pass%20word%2F@localhost:PORT");
  await using secure = await startMailServer({ password: "secret", isSecure: true });
  await sendTo(secure, "smtps://holt:secret@localhost:PORT");
  for (const { received } of [starting, secure]) assert.deepEqual([received[0]?.user, received[0]?.isSecure], ["holt", true]);
});

test("a password is not sent without TLS to another machine", async () => {
  await using server = await startMailServer({ password: "secret" });
  // Another spelling of the loopback address, which does not count as this machine.
  await assert.rejects(sendTo(server, "smtp://holt:secret@[::ffff:127.0.0.1]:PORT"), SmtpFailure);
  assert.deepEqual(server.logins, []);
});

test("a mail server with an untrusted certificate gets no mail", async () => {
  await using server = await startMailServer({ hasStartTls: true });
  const sender = createSmtpSender({ smtpUrl: `smtp://localhost:${server.port}`, smtpFrom: FROM });
  await assert.rejects(sender.send("1a2b", MAIL), SmtpFailure);
  assert.deepEqual(server.received, []);
});

test("a wrong password is tried again later, and the failure names neither it nor the recipient", async () => {
  await using server = await startMailServer({ password: "secret", hasStartTls: true });
  const error = await sendTo(server, "smtp://holt:wrong@localhost:PORT").catch((thrown: unknown) => thrown);
  assert.ok(error instanceof SmtpFailure && !error.isPermanent);
  assert.doesNotMatch(`${error.message} ${error.stack}`, /wrong\b|ann@/);
});

test("line breaks in a subject add no header, and markup in a text is escaped", async () => {
  await using server = await startMailServer();
  await sendTo(server, "smtp://127.0.0.1:PORT", { ...MAIL, subject: "Hi\r\nBcc: eve@example.com\n\nBody" });
  const [mail] = server.received;
  assert.deepEqual(mail?.to, ["ann@example.com"]);
  assert.match(mail?.message ?? "", /^Subject: Hi Bcc: eve@example\.com Body\r$/m);
  assert.doesNotMatch(mail?.message ?? "", /^Bcc:/m);
  const html = (mail?.message ?? "").replace(/=\r\n/g, "").replace(/=3D/g, "=");
  assert.match(html, /<a href="https:\/\/holt\.test\/a\?b=1&amp;c=&lt;2&gt;">/);
});
