/** The console in a real browser, against a real server. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { DeliveriesService } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { compressedSizes } from "./compressed-sizes.ts";
import { assertAccessible, createMachine, describeConsole, signInAtProvider, signInByLink } from "./console-world.ts";

await describeConsole("the console", ({ world, walk }) => {
  walk(
    "groups are created, changed and deleted, and what is in the way of a deletion is shown",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("team-a");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("treeitem").getByRole("link", { name: "team-a" }).click();
      await page.getByRole("heading", { name: "team-a" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("inner");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Description").fill("What team A builds");
      await assertAccessible(page);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("What team A builds").waitFor();
      await page.getByRole("button", { name: "Delete" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Groups: 1").waitFor();
      await dialog.getByRole("button", { name: "Delete" }).click();
      assert.match(await dialog.getByRole("alert").innerText(), /child groups[\s\S]*FAILED_PRECONDITION[\s\S]*Request/);
      await dialog.getByRole("link", { name: "in this group" }).click();
      await page.getByRole("row").getByRole("link", { name: "inner" }).click();
      await page.getByRole("heading", { name: "inner" }).waitFor();
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("treeitem").first().waitFor();
      await page.getByRole("button", { name: "Open team-a" }).click();
      await page.getByText("No groups in here").waitFor();
      await assertAccessible(page);
    },
    { expected: [/status of 400/] },
  );

  walk(
    "a violation is shown at its field, an error keeps the input, and leaving with input asks first",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByRole("textbox", { name: "Name", description: /^Lower-case letters, digits, spaces/ }).waitFor();
      await page.getByLabel("Name").fill("A name with CAPITALS / and a slash");
      await page.getByLabel("Description").fill("kept");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("alert").waitFor();
      assert.equal(await page.getByLabel("Name").getAttribute("aria-invalid"), "true");
      assert.equal(await page.getByLabel("Description").inputValue(), "kept");
      await assertAccessible(page);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Keep editing" }).click();
      assert.equal(await page.getByLabel("Description").inputValue(), "kept");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Discard it" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
    { expected: [/status of 400/] },
  );

  walk("a person with few rights sees which capability an action needs", async ({ page }) => {
    await signInAtProvider(page, world, "alice");
    await page.goto(`${world.baseUrl}/console/${world.acme.uid}/groups`);
    // The button is another element once the rights are known.
    const button = page.getByRole("button", { name: "New group", disabled: true });
    await button.waitFor();
    await button.focus();
    await page.getByRole("tooltip").waitFor();
    assert.match(await page.getByRole("tooltip").innerText(), /You lack groups\.create here/);
    await page.keyboard.press("Enter");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await assertAccessible(page);
  });

  walk(
    "the address of an organization that was deleted says so, and leads to the start",
    async ({ page }) => {
      const { uid } = await world.must(GroupsService.method.createGroup, { parent: "", group: { name: "short-lived" } });
      await signInByLink(page, world);
      await page.goto(`${world.baseUrl}/console/${uid}/groups`);
      await page.getByRole("button", { name: "Organization short-lived" }).waitFor();
      await world.must(GroupsService.method.deleteGroup, { uid });
      await page.reload();
      await page.getByRole("heading", { name: "There is no such organization" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("link", { name: "Go to the start" }).click();
      await page.getByRole("heading", { name: "There is no such organization" }).waitFor({ state: "detached" });
    },
    { expected: [/status of 40[34]/] },
  );

  walk("an owner who lacks a capability is told to take a role with it", async ({ page }) => {
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${world.orgUid}/advisories`);
    const button = page.getByRole("button", { name: "New advisory", disabled: true });
    await button.waitFor();
    await button.focus();
    await page.getByRole("tooltip").waitFor();
    assert.match(
      await page.getByRole("tooltip").innerText(),
      /You lack advisories\.create here\. As an owner, you can give yourself a role with it/,
    );
  });

  walk("hostile names and descriptions are shown as text", async ({ page, screen }) => {
    const text = `<img src=x onerror="reportViolation('ran')"><script>reportViolation('ran')</script> \u202Eevil\u200B ${"x".repeat(200)}`;
    const { uid } = await world.must(GroupsService.method.createGroup, {
      parent: world.orgUid,
      group: { name: "hostile", description: text },
    });
    await signInByLink(page, world);
    await page.goto(screen("/groups"));
    await page.getByRole("treeitem").getByText("<img src=x").waitFor();
    await page.goto(screen(`/group/${uid}`));
    await page.getByText("<script>").waitFor();
    assert.equal(await page.locator("img").count(), 0);
    await assertAccessible(page);
  });

  walk("the tree works by keyboard alone", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "aaa-keys" } });
    await world.must(GroupsService.method.createGroup, { parent: uid, group: { name: "below" } });
    await signInByLink(page, world);
    await page.goto(screen("/groups"));
    await page.getByRole("treeitem", { name: /aaa-keys/ }).press("ArrowRight");
    await page.getByRole("treeitem", { name: /below/ }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "below" }).waitFor();
  });

  walk("a list loads further pages while it scrolls, sorts, and exports all pages", async ({ page }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "many" } });
    const numbers = Array.from({ length: 230 }, (_, index) => String(index).padStart(3, "0"));
    for (const number of numbers) await world.must(ReposService.method.createRepo, { parent: uid, repo: { name: `repo-${number}` } });
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${uid}/repositories`);
    await page.getByText("100 of 230 loaded").waitFor();
    await page.getByRole("row", { name: "repo-000" }).focus();
    await page.getByRole("region", { name: "Image repositories" }).evaluate((list) => list.scrollTo(0, 1e6));
    await page.getByText("200 of 230 loaded").waitFor();
    await page.getByRole("button", { name: "Name" }).click();
    await page.getByRole("row", { name: "repo-229" }).waitFor();
    assert.match(page.url(), /order=name\+desc/);
    await page.getByRole("button", { name: "Export" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "All pages as CSV" }).click();
    const lines = (await readFile(await (await downloading).path(), "utf8")).trim().split("\r\n");
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(",")[0]),
      numbers.toReversed().map((number) => `repo-${number}`),
    );
    await page.getByRole("button", { name: "Columns" }).press("Enter");
    await page.getByRole("dialog", { name: "Columns" }).getByRole("checkbox", { name: "Name" }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Columns" }).waitFor({ state: "detached" });
    await page.getByLabel("Name").fill("repo-007");
    await page.getByRole("row", { name: "repo-007" }).waitFor();
    assert.match(page.url(), /name=repo-007/);
    await assertAccessible(page);
  });

  walk("a webhook is created, gets a test event, shows the failed delivery, sends it again, and is deleted", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/subscriptions"));
    await page.getByText("No events are sent anywhere yet").waitFor();
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("Sink").fill("https://127.0.0.1:9/hook");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "https://127.0.0.1:9/hook" }).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "https://127.0.0.1:9/hook" }).click();
    await page.getByRole("button", { name: "Send a test event" }).click();
    const pending = page.getByRole("row", { name: /test.*pending/ });
    await pending.first().waitFor();
    const [, uid = ""] = new URL(page.url()).pathname.split("/subscription/");
    await world.must(DeliveriesService.method.sendTestEvent, { uid: decodeURIComponent(uid) });
    await pending.nth(1).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Send again" }).first().click();
    await page.getByRole("tab", { name: "Health" }).click();
    await page.getByRole("row", { name: /State/ }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page
      .getByRole("dialog", { name: "Delete the webhook https://127.0.0.1:9/hook?" })
      .getByRole("button", { name: "Delete" })
      .click();
    await page.getByText("No events are sent anywhere yet").waitFor();
  });

  walk("the password of a pull token and the link of an invite are shown once, and both are revoked", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/pull-tokens"));
    await page.getByRole("button", { name: "New pull token" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("cluster-a");
    await page.getByLabel("python pull").check();
    await page.getByRole("button", { name: "Create" }).click();
    const secret = page.getByRole("dialog", { name: "Pull token cluster-a" });
    await secret.getByText(/docker login/).waitFor();
    await secret.getByText(/^pip install .*@.*\/libraries\/python\/my-org\/simple/).waitFor();
    await assertAccessible(page);
    await secret.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("row", { name: /cluster-a.*images pull, python pull/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("There are no pull tokens yet").waitFor();

    await page.goto(screen("/invites"));
    await page.getByRole("button", { name: "New invite" }).click();
    await page.getByRole("combobox", { name: "Role" }).fill("viewer");
    await page.getByRole("option", { name: "viewer", exact: true }).click();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText(`${world.baseUrl}/oauth?invite=`).waitFor();
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("row", { name: /viewer.*anyone with the link.*once/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Nobody is invited").waitFor();
  });

  walk("a role is bound to an identity and removed again, and the console explains the difference", async ({ page, screen }) => {
    const { uid } = await createMachine(world, "robot", "repo:b");
    await signInByLink(page, world);
    await page.goto(screen(`/group/${world.orgUid}?tab=access`));
    await page.getByRole("button", { name: "Bind a role" }).click();
    await page.getByRole("combobox", { name: "Identity" }).fill("rob");
    await page.getByRole("option", { name: /^robot/ }).click();
    await page.getByRole("combobox", { name: "Role" }).fill("viewer");
    await page.getByRole("option", { name: "viewer", exact: true }).click();
    await page.getByRole("button", { name: "Bind", exact: true }).click();
    await page.getByRole("row", { name: /robot.*viewer/ }).waitFor();
    await assertAccessible(page);
    const question = new URLSearchParams({ identity: uid, capability: String(Capability.CAP_IAM_GROUPS_LIST) });
    await page.goto(screen(`/explain?${question}`));
    await page
      .getByRole("listitem")
      .filter({ hasText: /→ .*binding at my-org → .*role viewer → .*groups\.list/ })
      .waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "viewer" }).click();
    await page.getByRole("row", { name: /^groups list/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Bindings" }).click();
    await page.getByRole("row", { name: /robot.*my-org/ }).waitFor();
    await page.getByRole("link", { name: "my-org" }).click();
    // The screen of the role, which stays until the group's is loaded, has such a row, too.
    await page.getByRole("heading", { name: "my-org" }).waitFor();
    await page.getByRole("row", { name: /robot/ }).getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("row", { name: /robot/ }).waitFor({ state: "detached" });
    await page.goto(screen(`/explain?${question}`));
    await page.getByText("Not allowed").waitFor();
    await page.goto(screen("/roles?name=owner"));
    await page.getByRole("link", { name: "owner", exact: true }).waitFor();
    await assertAccessible(page);
  });

  test("the first load of Home is at most 300 kB, and each further screen at most 80 kB", async () => {
    const { home, others } = await compressedSizes();
    assert.ok(home <= 300_000, `Home loads ${home} bytes`);
    for (const [screen, bytes] of others) assert.ok(bytes <= 80_000, `${screen} loads ${bytes} bytes`);
    assert.ok(others.size >= 4);
  });
});
