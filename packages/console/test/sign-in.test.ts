/** Signing in to the console and out of it, in a real browser, against a real server. */
import assert from "node:assert/strict";
import { assertAccessible, describeConsole, endSession, linkOf, signInAtProvider, signInByLink } from "./console-world.ts";

await describeConsole("signing in to the console", ({ world, walk }) => {
  walk("a link signs the bootstrap owner in, and its secret leaves the address", async ({ page, screen }) => {
    await page.goto(await linkOf(world));
    await page.getByRole("heading", { name: "Your organizations" }).waitFor();
    assert.ok(!page.url().includes("#"));
    await page.goto(screen("/"));
    await page.getByRole("heading", { name: "my-org" }).waitFor();
    await page.getByRole("button", { name: "bootstrap-owner: you and this browser" }).waitFor();
    await assertAccessible(page);
  });

  walk(
    "a link that was used already says how to make another",
    async ({ page }) => {
      const link = await linkOf(world);
      await page.goto(link);
      await page.getByRole("heading", { name: "Your organizations" }).waitFor();
      await page.goto("about:blank");
      await page.goto(link);
      assert.match(await page.getByRole("alert").innerText(), /used already or has expired/);
      await assertAccessible(page);
    },
    { expected: [/status of 400/] },
  );

  walk("signing out ends the session on the server", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/"));
    const cookies = await page.context().cookies(`${world.baseUrl}/oauth/session`);
    await page.getByRole("button", { name: /you and this browser/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Holt" }).waitFor();
    await page.context().addCookies(cookies);
    await page.goto(screen("/"));
    await page.getByRole("heading", { name: "Sign in to Holt" }).waitFor();
  });

  walk("a person signs in at the organization's provider and returns to the screen", async ({ page }) => {
    await signInAtProvider(page, world, "alice");
    assert.equal(page.url(), `${world.baseUrl}/console/${world.acme.uid}`);
  });

  walk(
    "a page whose person signed out in another tab is loaded again for the next person",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("of-the-owner");
      const other = await page.context().newPage();
      await other.goto(screen("/"));
      await other.getByRole("button", { name: /you and this browser/ }).click();
      await other.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
      // The tab goes to the sign-in by itself, and must not do so during the next navigation.
      await other.getByRole("heading", { name: "Sign in to Holt" }).waitFor();
      await signInAtProvider(other, world, "alice");
      await page.getByLabel("Name").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "New group", disabled: true }).first().waitFor();
    },
    { expected: [/status of 403/] },
  );

  walk(
    "a request that waits since the session has ended is not sent for the next person",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("of-the-owner");
      await endSession(page, world);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
      const sent: string[] = [];
      page.on("request", (request) => sent.push(request.url()));
      await signInAtProvider(await page.context().newPage(), world, "alice");
      await page.getByLabel("Name").waitFor({ state: "detached" });
      assert.deepEqual(
        sent.filter((url) => url.endsWith("/CreateGroup")),
        [],
      );
    },
    { expected: [/status of 40[13]/] },
  );

  walk("a person sees the own sessions and ends another one", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/sessions"));
    await page.getByRole("row", { name: /console.*this session/ }).waitFor();
    await assertAccessible(page);
    const others = page.getByRole("button", { name: "End", exact: true });
    const before = await others.count();
    await others.first().click();
    await page
      .getByRole("dialog")
      .getByText(/^console, .*Chrome.* at 127\.0\.0\.1, since /)
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    await others.nth(before - 1).waitFor({ state: "detached" });
  });

  walk(
    "when the session has ended, a request waits until the person has signed in again, and the input stays",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("kept-input");
      await page.context().clearCookies();
      world.clock.advance(2 * 3_600_000);
      await page.getByRole("button", { name: "Create" }).click();
      const ended = page.getByRole("dialog", { name: "Your session has ended" });
      await ended.getByRole("button", { name: "I have signed in" }).click();
      await ended.getByText("This browser is not signed in yet").waitFor();
      await assertAccessible(page);
      const other = await page.context().newPage();
      await other.goto(await linkOf(world));
      await other.getByRole("heading", { name: "Your organizations" }).waitFor();
      await page.getByRole("treeitem", { name: /kept-input/ }).waitFor();
    },
    { expected: [/status of 401/] },
  );
});
