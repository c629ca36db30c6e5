/** Tests sign-in with a real browser. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { Page } from "playwright-core";
import { assertAccessible } from "../harness/sign-in/accessibility.ts";
import { launchChromium, openBrowser, type Watched } from "../harness/sign-in/chromium.ts";
import { type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import { PATIENCE_MS } from "../harness/wait.ts";

const chromium = await launchChromium();
const skip = chromium === undefined ? "Chromium does not start on this machine" : false;

describe("sign-in with a real browser", { skip }, () => {
  const world = {} as SignInWorld;
  before(async () => void Object.assign(world, await startSignInWorld()));
  after(async () => {
    await chromium?.close();
    await world[Symbol.asyncDispose]();
  });

  /** Runs a test in a fresh browser; afterwards there must be no violations and no requests to unknown origins. */
  function withBrowser(title: string, walk: (page: Page, watched: Watched) => Promise<void>): void {
    test(title, async () => {
      assert.ok(chromium);
      await using watched = await openBrowser(chromium);
      watched.page.setDefaultTimeout(PATIENCE_MS);
      await walk(watched.page, watched);
      assert.deepEqual(watched.violations, []);
      const known = (origin: string): boolean => origin === world.baseUrl || /^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+$/.test(origin);
      assert.deepEqual(
        [...watched.origins].filter((origin) => !known(origin)),
        [],
      );
    });
  }

  /** Waits for the page: a click does not wait for all redirects that follow it. */
  const untilHeading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  async function atUpstream(page: Page, account: string): Promise<void> {
    await page.getByLabel("Account").fill(account);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  async function signInWithOrganization(page: Page, account: string): Promise<void> {
    await page.getByLabel("Your organization").fill("acme.test");
    await page.getByRole("button", { name: "Continue" }).click();
    await atUpstream(page, account);
  }

  test("violations of the content security policy are detected", async () => {
    assert.ok(chromium);
    await using watched = await openBrowser(chromium);
    await watched.page.goto(world.oauth({}));
    await watched.page.evaluate(`document.body.innerHTML = '<img src="https://elsewhere.test/x"><p style="color: red">x</p>'`);
    await watched.page.waitForFunction("document.images[0]?.complete");
    assert.ok(
      watched.violations.some((violation) => violation.includes("img-src")),
      watched.violations.join("; "),
    );
    assert.ok(
      watched.violations.some((violation) => violation.includes("style-src")),
      watched.violations.join("; "),
    );
  });

  withBrowser("a program on the same machine gets its token through the browser", async (page) => {
    await using program = await startProgram();
    await page.goto(world.oauth({ exit: "redirect", redirect: program.url, create_refresh_token: "true" }));
    await untilHeading(page, "Sign in");
    await assertAccessible(page);
    await signInWithOrganization(page, "alice");
    await untilHeading(page, "Sign in a program?");
    assert.ok((await page.locator("main").innerText()).includes(new URL(program.url).host));
    await assertAccessible(page);
    await page.getByRole("button", { name: "Yes, sign it in" }).click();
    const query = await program.called;
    assert.deepEqual([...query.keys()].sort(), ["refresh_token", "token"]);
    const { groups } = await world.must(GroupsService.method.listGroups, {}, query.get("token") ?? "");
    assert.deepEqual(
      groups.map(({ name }) => name),
      ["acme.test"],
    );
  });

  withBrowser("the page offers the operator's provider as a button", async (page) => {
    await page.goto(world.oauth({}));
    await page.getByRole("button", { name: `Sign in with ${new URL(world.upstream.issuer).host}` }).click();
    await atUpstream(page, "olga");
    await untilHeading(page, "You are signed in");
    await assertAccessible(page);
    const token = await page.getByLabel("Access token").inputValue();
    assert.ok((await world.must(Auth.method.validate, {}, token)).subject);
    await page.reload();
    await untilHeading(page, "You are not signed in");
  });

  withBrowser("a mistyped organization name is asked for again, and the corrected name continues", async (page) => {
    await page.goto(world.oauth({}));
    await page.getByLabel("Your organization").fill("acne.test");
    await page.getByRole("button", { name: "Continue" }).click();
    assert.match(await page.getByRole("alert").innerText(), /Check how your organization's name is written/);
    assert.equal(await page.getByLabel("Your organization").getAttribute("aria-invalid"), "true");
    await assertAccessible(page);
    await signInWithOrganization(page, "alice");
    await untilHeading(page, "You are signed in");
  });

  withBrowser("a program on another machine is signed in after a confirmation, and the page shows no token", async (page) => {
    const code = Buffer.alloc(32, 9).toString("base64url");
    await page.goto(world.oauth({ headless_code: code, idp_id: "acme.test" }));
    await atUpstream(page, "hedy");
    await untilHeading(page, "Sign in elsewhere?");
    assert.ok((await page.locator("main").innerText()).includes(code));
    await assertAccessible(page);
    await page.getByRole("button", { name: "Yes, sign it in" }).click();
    await untilHeading(page, "Done");
    await assertAccessible(page);
    assert.ok((await world.rest.call(Auth.method.getHeadlessSession, { code }, undefined)).ok);
  });

  withBrowser("a device is signed in by the code that it displays", async (page) => {
    const begun = (await (
      await fetch(`${world.baseUrl}/oauth/device_authorization`, { method: "POST", body: new URLSearchParams({ client_id: "tv" }) })
    ).json()) as Record<string, string>;
    await page.goto(begun.verification_uri ?? "");
    await assertAccessible(page);
    await page.getByLabel("The code that the device shows").fill("bcdf ghjk");
    await page.keyboard.press("Enter");
    assert.match(await page.getByRole("alert").innerText(), /Look at the device again/);
    await assertAccessible(page);
    await page.getByLabel("The code that the device shows").fill((begun.user_code ?? "").toLowerCase());
    await page.keyboard.press("Enter");
    await signInWithOrganization(page, "dave");
    await untilHeading(page, "Sign in elsewhere?");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Yes, sign it in" }).click();
    await untilHeading(page, "Done");
    const form = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: begun.device_code ?? "", client_id: "tv" };
    const tokens = await fetch(`${world.baseUrl}/oauth/token`, { method: "POST", body: new URLSearchParams(form) });
    assert.equal(tokens.status, 200);
  });

  withBrowser("an invited person sees the invite, joins, and gets a token with its rights", async (page) => {
    await using program = await startProgram();
    const groupInvite = { roleUid: world.acme.defaultRole, ttl: { seconds: 600n }, singleUse: true };
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, { parent: world.acme.uid, groupInvite });
    await page.goto(world.oauth({ invite: code, redirect: program.url }));
    assert.match(await page.locator("main").innerText(), /You were invited/);
    await page.getByRole("button", { name: `Sign in with ${new URL(world.upstream.issuer).host}` }).click();
    await atUpstream(page, "iris");
    await untilHeading(page, "Join?");
    assert.match(await page.locator("dl").innerText(), /iris\s+You join\s+acme\.test/);
    await assertAccessible(page);
    await page.getByRole("button", { name: "Join" }).click();
    const token = (await program.called).get("token") ?? "";
    const { groups } = await world.must(GroupsService.method.listGroups, {}, token);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ["acme.test"],
    );
  });

  withBrowser("the page for an invite shows the organization's name and logo, and offers its provider", async (page) => {
    const logo = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 10"><rect width="40" height="10" fill="#0b4f9e"/></svg>',
    );
    const { acme } = world;
    await world.must(SignInSettingsService.method.updateSignInSettings, {
      signInSettings: { uid: acme.uid, displayName: "ACME Inc.", logo },
    });
    const groupInvite = { roleUid: acme.defaultRole, ttl: { seconds: 600n } };
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, { parent: acme.uid, groupInvite });
    await page.goto(world.oauth({ invite: code }));
    assert.match(await page.locator("main").innerText(), /ACME Inc\./);
    assert.ok((await page.evaluate<number>("document.querySelector('.organization img').naturalWidth")) > 0);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 640 });
    assert.ok((await page.evaluate<number>("document.documentElement.scrollWidth")) <= 360);
    await page.getByRole("button", { name: "Sign in with acme sso" }).click();
    await atUpstream(page, "ada");
    await untilHeading(page, "Join?");
  });

  withBrowser("an organization that requires its own provider leads there, and refuses an invite after another sign-in", async (page) => {
    const { acme } = world;
    const settings = (ownProviderRequired: boolean) => ({
      signInSettings: { uid: acme.uid, ownProviderRequired },
      updateMask: { paths: ["own_provider_required"] },
    });
    await world.must(SignInSettingsService.method.updateSignInSettings, settings(true));
    const groupInvite = { roleUid: acme.defaultRole, ttl: { seconds: 600n } };
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, { parent: acme.uid, groupInvite });
    await page.goto(world.oauth({ invite: code, client_id: "holt" }));
    await atUpstream(page, "eve");
    assert.match(await page.getByRole("alert").innerText(), /requires its own identity provider/);
    await page.goto(world.oauth({ organization: acme.uid }));
    // The provider still knows the person.
    const own = await page.getByLabel("Access token").inputValue();
    assert.equal((await world.must(GroupsService.method.listGroups, {}, own)).groups.length, 1);
    await world.must(SignInSettingsService.method.updateSignInSettings, settings(false));
  });

  withBrowser("a person who declines is told that nothing was done", async (page) => {
    const code = Buffer.alloc(32, 11).toString("base64url");
    await page.goto(world.oauth({ headless_code: code, idp_id: "acme.test" }));
    await atUpstream(page, "hedy");
    await page.getByRole("button", { name: "No" }).click();
    await untilHeading(page, "Nothing was done");
    await assertAccessible(page);
    assert.equal((await world.rest.call(Auth.method.getHeadlessSession, { code }, undefined)).ok, false);
  });

  describe("error pages say what to do next", () => {
    async function assertRefused(page: Page, text: RegExp): Promise<void> {
      await untilHeading(page, "You are not signed in");
      assert.match(await page.getByRole("alert").innerText(), text);
      await assertAccessible(page);
    }
    /** Signs in at the provider. Returns the callback URL that the browser is sent to. */
    async function callbackOf(page: Page, account: string): Promise<string> {
      const callback = page.waitForRequest((request) => request.url().startsWith(`${world.baseUrl}/oauth/callback`));
      await page.goto(world.oauth({ idp_id: "acme.test" }));
      await atUpstream(page, account);
      return (await callback).url();
    }

    withBrowser("a callback with an unknown state", async (page) => {
      await page.goto(`${world.baseUrl}/oauth/callback?code=x&state=y`);
      await assertRefused(page, /Start again from where you began/);
    });

    withBrowser("a callback that is sent twice", async (page) => {
      const callback = await callbackOf(page, "alice");
      await page.waitForSelector("#token");
      await page.goto(callback);
      await assertRefused(page, /already finished. Start again/);
    });

    withBrowser("a browser that lost its cookie", async (page, { context }) => {
      await page.goto(world.oauth({ idp_id: "acme.test" }));
      await context.clearCookies({ name: "holt-sign-in" });
      await atUpstream(page, "alice");
      await assertRefused(page, /allow cookies of this site/);
    });

    withBrowser("a program on another machine", async (page) => {
      await page.goto(world.oauth({ idp_id: "acme.test", redirect: "https://evil.test/" }));
      await assertRefused(page, /not on your own machine/);
    });

    withBrowser("a person who cancels at the provider", async (page) => {
      await page.goto(world.oauth({ idp_id: "acme.test" }));
      await page.getByRole("button", { name: "Cancel" }).click();
      await assertRefused(page, /You <b>cancelled<\/b> at the upstream/);
    });

    withBrowser("a provider that is down", async (page) => {
      await page.goto(world.oauth({ idp_id: "acme.test" }));
      world.upstream.setDown(true, "/token");
      await atUpstream(page, "alice");
      await page.waitForSelector("[role=alert]");
      world.upstream.setDown(false);
      await assertRefused(page, /Try again in a minute/);
    });

    withBrowser("a deactivated person", async (page) => {
      const time = new Date().toISOString();
      const row = {
        idp_uid: world.acme.provider,
        external_id: "gone",
        user_name: "gone",
        active: 0,
        delete_time: null,
        version: 1,
        body: "{}",
      };
      await world.store.transaction((db) =>
        db
          .insertInto("scim_user")
          .values({ id: "gone", ...row, create_time: time, update_time: time })
          .execute(),
      );
      await page.goto(world.oauth({ idp_id: "acme.test" }));
      await atUpstream(page, "gone");
      await assertRefused(page, /ask its administrator/);
    });

    withBrowser("a server without any provider", async (page) => {
      await using bare = await startSignInWorld({ hasOperator: false });
      await bare.store.transaction((db) => db.deleteFrom("identity_provider").execute());
      await page.goto(bare.oauth({}));
      await untilHeading(page, "Nobody can sign in yet");
      assert.match(await page.locator("main").innerText(), /HOLT_LOGIN_ISSUER/);
      await assertAccessible(page);
    });
  });
});

interface Program extends AsyncDisposable {
  readonly url: string;
  /** The query that the browser sends. */
  readonly called: Promise<URLSearchParams>;
}

/** Starts a server as command-line programs do, on a random port, for one request. */
async function startProgram(): Promise<Program> {
  const { promise: called, resolve } = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    if (url.pathname === "/callback") resolve(url.searchParams);
    response.end("You can close this window.");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback?token=true&error=true`,
    called,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
