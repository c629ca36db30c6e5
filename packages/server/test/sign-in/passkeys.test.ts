/** Passkeys in a real browser with virtual authenticators. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { passkeysOf, refusePasskey } from "../../src/iam/accounts/passkeys.ts";
import { createRecoveryLink, recoveryUrl } from "../../src/iam/accounts/recovery-links.ts";
import { assertAccessible } from "../harness/sign-in/accessibility.ts";
import { createHolder, type InviteFields, inviteTo, nextCode, PASSWORD, signInWithPassword } from "../harness/sign-in/account-visitor.ts";
import { addAuthenticator } from "../harness/sign-in/authenticator.ts";
import { launchChromium, openBrowser } from "../harness/sign-in/chromium.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import { type MailServer, startMailServer, textOfMail } from "../harness/smtp-server.ts";
import { PATIENCE_MS, until } from "../harness/wait.ts";

const chromium = await launchChromium();
const skip = chromium === undefined ? "Chromium does not start on this machine" : false;

describe("accounts with passkeys in a real browser", { skip }, () => {
  const world = {} as SignInWorld;
  let mail: MailServer;
  before(async () => {
    mail = await startMailServer();
    const env = { HOLT_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, HOLT_SMTP_FROM: "holt@holt.test" };
    Object.assign(world, await startSignInWorld({ hasOperator: false, host: "localhost", env }));
  });
  after(async () => {
    await chromium?.close();
    await world[Symbol.asyncDispose]();
    await mail[Symbol.asyncDispose]();
  });

  function withBrowser(title: string, walk: (page: Page) => Promise<void>): void {
    test(title, async () => {
      assert.ok(chromium);
      await using watched = await openBrowser(chromium);
      watched.page.setDefaultTimeout(PATIENCE_MS);
      await walk(watched.page);
      assert.deepEqual(watched.violations, []);
    });
  }

  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
  const problem = (page: Page) => page.getByRole("alert").first().innerText();

  async function waitForHeading(page: Page, title: string): Promise<void> {
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
  }

  async function tokenOn(page: Page): Promise<string> {
    await waitForHeading(page, "You are signed in");
    return page.getByLabel("Access token").inputValue();
  }

  /** Creates an account by an invite. @returns the recovery codes, and the uid of the person */
  async function createAccount(
    page: Page,
    invite: InviteFields = {},
  ): Promise<{ readonly codes: readonly string[]; readonly uid: string }> {
    await page.goto(world.oauth({ invite: await inviteTo(world, invite) }));
    await press(page, "Create an account");
    await waitForHeading(page, "Create your account");
    await page.getByLabel("Your name").fill("Ada");
    await press(page, "Create a passkey");
    await waitForHeading(page, "Your recovery codes");
    const codes = await page.locator("li code").allInnerTexts();
    await press(page, "I have kept them");
    return { codes, uid: claimsOf(await tokenOn(page)).sub ?? "" };
  }

  async function signIn(page: Page, path = "/oauth"): Promise<void> {
    await page.goto(world.baseUrl + path);
    await press(page, "Sign in with a passkey");
  }

  async function eventsOf(uid: string): Promise<string[]> {
    const rows = await world.store.reader.selectFrom("outbox").select("type").where("subject", "=", uid).orderBy("seq").execute();
    return rows.map(({ type }) => type.replace(/^.*\.account\./, ""));
  }

  withBrowser("an invited person creates an account with a passkey and signs in with it, without a name", async (page) => {
    const device = await addAuthenticator(page);
    await page.goto(world.oauth({ invite: await inviteTo(world) }));
    await press(page, "Create an account");
    await assertAccessible(page);
    const { uid, codes } = await createAccount(page);
    assert.equal(codes.length, 10);
    assert.equal((await device.passkeys()).length, 1);
    await signIn(page);
    assert.equal(claimsOf(await tokenOn(page)).sub, uid);
    await page.goto(`${world.baseUrl}/oauth`);
    await assertAccessible(page);
  });

  withBrowser("a device that does not verify its user cannot sign in", async (page) => {
    const device = await addAuthenticator(page);
    await createAccount(page);
    await device.setVerified(false);
    await signIn(page);
    assert.match(await problem(page), /did not confirm a passkey/);
  });

  withBrowser("a passkey whose counter goes back is refused, and an event says so", async (page) => {
    const device = await addAuthenticator(page);
    const { uid } = await createAccount(page);
    await signIn(page);
    await tokenOn(page);
    const [passkey] = await device.passkeys();
    assert.ok(passkey);
    await device.setCounter(passkey, 0);
    await signIn(page);
    await page.getByText("it looks as if it exists twice").waitFor();
    assert.equal((await eventsOf(uid)).at(-1), "passkey_cloned.v1");
  });

  withBrowser("a copied passkey is refused with every counter until it is removed, and a mail says so", async (page) => {
    const device = await addAuthenticator(page);
    const email = "copied@example.test";
    const { codes, uid } = await createAccount(page, { email });
    await signIn(page);
    await tokenOn(page);
    const [passkey] = await device.passkeys();
    assert.ok(passkey);
    await device.setCounter(passkey, 0);
    for (const ahead of [0, 1, 1000]) {
      if (ahead > 0) await device.setCounter(passkey, passkey.signCount + ahead);
      await signIn(page);
      await page.getByText("it looks as if it exists twice").waitFor();
    }
    assert.deepEqual((await eventsOf(uid)).slice(-3), ["passkey_cloned.v1", "passkey_cloned.v1", "passkey_cloned.v1"]);
    const aboutCopy = () =>
      mail.received
        .filter(({ to }) => to.includes(email))
        .map(textOfMail)
        .filter((text) => /may have copied/.test(text));
    await until(() => aboutCopy().length === 3);
    assert.match(aboutCopy()[0] ?? "", /^The passkey “Passkey of [\d-]+” was refused/);
    await page.goto(`${world.baseUrl}/oauth/account/recover`);
    await page.getByLabel("One of your recovery codes").fill(codes[0] ?? "");
    await press(page, "Continue");
    await press(page, "Create a passkey");
    await press(page, "I have kept them");
    await waitForHeading(page, "Your account");
    await signIn(page);
    assert.equal(claimsOf(await tokenOn(page)).sub, uid);
  });

  withBrowser("a passkey that is refused as a copy does not count as a way into the account", async (page) => {
    const device = await addAuthenticator(page);
    const { uid } = await createAccount(page);
    await signIn(page, "/oauth/account");
    await device.remove();
    await addAuthenticator(page);
    await page.getByLabel("Name of a new passkey").fill("Phone");
    await press(page, "Add a passkey");
    await page.getByText("The passkey was added.").waitFor();
    const phone = page.getByRole("listitem").filter({ has: page.getByRole("button", { name: "Remove Phone" }) });
    await phone.getByLabel("Name").fill("Work phone");
    await phone.getByRole("button", { name: "Rename" }).click();
    await page.getByText("The passkey was renamed.").waitFor();
    assert.equal((await eventsOf(uid)).at(-1), "passkey_renamed.v1");
    const copied = (await passkeysOf(world.store.reader, uid)).find(({ name }) => name !== "Work phone");
    await world.store.transaction((db) => refusePasskey(db, copied?.credential_id ?? ""));
    await press(page, "Remove Work phone");
    assert.match(await problem(page), /only way into the account/);
    await page.getByText("refused because somebody may have copied it").waitFor();
    await page.getByRole("button", { name: /^Remove Passkey of/ }).click();
    await page.getByText("The passkey was removed.").waitFor();
    assert.equal((await eventsOf(uid)).at(-1), "passkey_removed.v1");
  });

  withBrowser("an account has several passkeys, and the last one cannot be removed", async (page) => {
    const first = await addAuthenticator(page);
    const { uid } = await createAccount(page);
    await signIn(page, "/oauth/account");
    await waitForHeading(page, "Your account");
    await page.getByRole("heading", { level: 2, name: "Recovery codes" }).waitFor();
    await assertAccessible(page);
    await first.remove();
    const second = await addAuthenticator(page);
    await page.getByLabel("Name of a new passkey").fill("Phone");
    await press(page, "Add a passkey");
    await page.getByText("The passkey was added.").waitFor();
    const [firstPasskey] = await page.getByRole("button", { name: /^Remove Passkey of/ }).all();
    await firstPasskey?.click();
    await page.getByText("The passkey was removed.").waitFor();
    await press(page, "Remove Phone");
    assert.match(await problem(page), /only way into the account/);
    assert.equal((await second.passkeys()).length, 1);
    await signIn(page);
    assert.equal(claimsOf(await tokenOn(page)).sub, uid);
    assert.deepEqual(await eventsOf(uid), ["created.v1", "passkey_added.v1", "passkey_removed.v1"]);
  });

  withBrowser("a person who has lost the device gets in with a recovery code, which works once", async (page) => {
    const lost = await addAuthenticator(page);
    const { uid, codes } = await createAccount(page);
    await lost.remove();
    const found = await addAuthenticator(page);
    await page.goto(`${world.baseUrl}/oauth/account/recover`);
    await assertAccessible(page);
    await page.getByLabel("One of your recovery codes").fill(codes[3] ?? "");
    await press(page, "Continue");
    await waitForHeading(page, "Set up your sign-in again");
    await press(page, "Create a passkey");
    await waitForHeading(page, "Your recovery codes");
    await press(page, "I have kept them");
    await waitForHeading(page, "Your account");
    assert.equal((await found.passkeys()).length, 1);
    await signIn(page);
    assert.equal(claimsOf(await tokenOn(page)).sub, uid);
    assert.deepEqual(await eventsOf(uid), ["created.v1", "recovery_code_used.v1", "recovered.v1"]);
    for (const code of codes) {
      await page.goto(`${world.baseUrl}/oauth/account/recover`);
      await page.getByLabel("One of your recovery codes").fill(code);
      await press(page, "Continue");
      if (/too many wrong attempts/i.test(await problem(page))) break;
      assert.match(await problem(page), /not one of your recovery codes/);
    }
  });

  withBrowser("a recovery link replaces the passkeys and works once", async (page) => {
    await addAuthenticator(page);
    const { uid } = await createAccount(page);
    const url = await linkFor(uid, false);
    await page.goto(url);
    await press(page, "Create a passkey");
    await waitForHeading(page, "Your recovery codes");
    const passkeys = world.store.reader.selectFrom("passkey").select("uid").where("identity_uid", "=", uid);
    assert.equal((await passkeys.execute()).length, 1);
    await page.goto(url);
    assert.match(await problem(page), /was used already/);
  });

  withBrowser("too many wrong passwords do not keep the person from the passkey", async (page) => {
    const holder = await createHolder(world, "locked@example.test");
    const { sub = "" } = claimsOf(holder.token);
    await addAuthenticator(page);
    await page.goto(await linkFor(sub, true));
    await press(page, "Create a passkey");
    await waitForHeading(page, "Your recovery codes");
    for (let count = 0; count < 12; count++)
      await signInWithPassword(world, world.visitor(), { email: holder.email, password: "wrong password", code: "1" });
    const refused = await signInWithPassword(world, world.visitor(), {
      ...holder,
      password: PASSWORD,
      code: nextCode(world, holder.secret),
    });
    assert.equal(refused.status, 429);
    await signIn(page);
    assert.equal(claimsOf(await tokenOn(page)).sub, sub);
  });

  function linkFor(identityUid: string, resetsSecondFactor: boolean): Promise<string> {
    const now = world.clock.now();
    const link = { identityUid, resetsSecondFactor, creator: "", expireTime: new Date(now.getTime() + 3_600_000) };
    return world.store.transaction((db) => createRecoveryLink(db, link, now)).then((token) => recoveryUrl(world.baseUrl, token));
  }
});
