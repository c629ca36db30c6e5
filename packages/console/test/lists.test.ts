/** Long lists and the tree in a real browser: what is read again, keys, and filters. */
import assert from "node:assert/strict";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import type { Locator, Page } from "playwright-core";
import { until } from "../../server/test/harness/wait.ts";
import { describeConsole, signInByLink } from "./console-world.ts";

const GROUPS = 520;

await describeConsole("long lists of the console", ({ world, walk }) => {
  let organization: Promise<string> | undefined;
  /** An organization with groups from team-000 to team-519. */
  const withGroups = () => {
    organization ??= (async () => {
      const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "long-lists" } });
      for (let index = 0; index < GROUPS; index++) await createGroup(uid, `team-${String(index).padStart(3, "0")}`);
      return uid;
    })();
    return organization;
  };
  const createGroup = (parent: string, name: string) => world.must(GroupsService.method.createGroup, { parent, group: { name } });
  const list = (page: Page) => page.getByRole("region", { name: "Groups" });
  const row = (page: Page, name: string | RegExp) => page.getByRole("row", { name });
  const scrollTo = (page: Page, part: number) =>
    list(page).evaluate((element, part) => element.scrollTo(0, element.scrollHeight * part), part);
  const focusedText = (page: Page) => page.evaluate<string>("document.activeElement.textContent");

  /** Opens the list and scrolls to its end, until all pages are loaded. */
  async function openWhole(page: Page, uid: string): Promise<void> {
    await page.goto(`${world.baseUrl}/console/${uid}/group/${uid}?tab=groups`);
    await page.getByText(/^\d+ of \d+ loaded$/).waitFor();
    const count = page.getByText(/^\d+ entries$/);
    await until(async () => {
      await scrollTo(page, 1);
      return (await count.count()) > 0;
    });
    // The last page may have come after the last scroll.
    await scrollTo(page, 1);
  }

  /** Opens the tree and its group team-003, which is empty. @returns finds a group in the tree */
  async function openTree(page: Page): Promise<(name: string) => Locator> {
    const uid = await withGroups();
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${uid}/groups`);
    const item = (name: string) => page.getByRole("treeitem", { name });
    await item("team-003").press("ArrowRight");
    await page.getByText("No groups in here").waitFor();
    return item;
  }

  walk("the focus of a long list stays at its row while others scroll, and keys move it by pages and to the ends", async ({ page }) => {
    await signInByLink(page, world);
    await openWhole(page, await withGroups());
    await scrollTo(page, 0);
    await row(page, "team-003").focus();
    await scrollTo(page, 1);
    await row(page, "team-519").waitFor();
    assert.match(await focusedText(page), /^team-003/);
    await page.keyboard.press("ArrowDown");
    await until(async () => (await focusedText(page)).startsWith("team-004"));
    await page.keyboard.press("PageDown");
    await until(async () => /^team-0(0[5-9]|[1-9])/.test(await focusedText(page)));
    await page.keyboard.press("End");
    await until(async () => (await focusedText(page)).startsWith("team-519"));
    await page.keyboard.press("PageUp");
    await until(async () => /^team-5(0|1[0-8])/.test(await focusedText(page)));
    await page.keyboard.press("Home");
    await until(async () => (await focusedText(page)).startsWith("team-000"));
    await row(page, "team-000").waitFor();
  });

  walk("the tree keeps the focus while it scrolls, and leaves keys of the browser alone", async ({ page }) => {
    const item = await openTree(page);
    await item("team-003").press("Alt+ArrowLeft");
    assert.equal(await item("team-003").getAttribute("aria-expanded"), "true");
    await item("team-003").evaluate((element) => element.closest("[role=tree]")?.parentElement?.scrollTo(0, 1e6));
    await item("team-199").waitFor();
    assert.match(await focusedText(page), /team-003/);
    await page.keyboard.press("ArrowLeft");
    await item("team-003").and(page.locator("[aria-expanded=false]")).waitFor({ state: "attached" });
  });

  walk("a person who returns from a group finds the tree as it was", async ({ page }) => {
    const item = await openTree(page);
    await item("team-003").press("Enter");
    await page.getByRole("heading", { name: "team-003" }).waitFor();
    await page.goBack();
    await page.getByText("No groups in here").waitFor();
    assert.equal(await item("team-003").getAttribute("aria-expanded"), "true");
  });

  walk("a long list reads only the visible pages again when a person returns", async ({ page }) => {
    const uid = await withGroups();
    await signInByLink(page, world);
    await openWhole(page, uid);
    await row(page, "team-519").waitFor();
    await scrollTo(page, 0.5);
    await row(page, "team-262").getByRole("link").click();
    await page.getByRole("heading", { name: "team-262" }).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Description" }).fill("changed");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await createGroup(uid, "team-000-new");
    await createGroup(uid, "team-262-new");
    let reads = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/ListGroups") && request.postData()?.includes("pageToken")) reads++;
    });
    await page.goBack();
    await until(async () => {
      await scrollTo(page, 0.5);
      return (await row(page, "team-262-new").count()) > 0;
    });
    await row(page, /^team-262 .*changed/).waitFor();
    assert.ok(reads > 0 && reads <= 4, `${reads} pages were read`);
    await scrollTo(page, 0);
    await row(page, "team-000-new").waitFor();
    await page.getByText("522 entries").waitFor();
  });

  walk("the tree has every group once after a group was added to an earlier page, and after one was removed", async ({ page }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "paged-tree" } });
    const groups = [];
    for (let index = 0; index < 205; index++) groups.push(await createGroup(uid, `part-${String(index).padStart(3, "0")}`));
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${uid}/groups`);
    const tree = page.getByRole("tree");
    const scroll = (part: number) => tree.evaluate((element, to) => element.parentElement?.scrollTo(0, element.scrollHeight * to), part);
    const item = (name: string) => page.getByRole("treeitem", { name });
    await item("part-000").waitFor();
    await scroll(1);
    await page.getByRole("button", { name: "Show more" }).click();
    await item("part-204").waitFor();
    await page.getByRole("button", { name: "New group" }).click();
    await page.getByLabel("Name").fill("part-000-new");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const shown = () => tree.evaluate((element) => [...element.querySelectorAll("a")].map(({ textContent }) => textContent));
    // The last group of the first page is now the first one of the second.
    await until(async () => {
      await scroll(1);
      return (await item("part-199").count()) === 1 && (await item("part-204").count()) === 1;
    });
    await world.must(GroupsService.method.deleteGroup, { uid: groups[1]?.uid ?? "" });
    await world.must(GroupsService.method.deleteGroup, { uid: groups[2]?.uid ?? "" });
    await page.getByRole("button", { name: "New group" }).click();
    await page.getByLabel("Name").fill("part-999");
    await page.getByRole("button", { name: "Create" }).click();
    await until(async () => {
      await scroll(1);
      return (await item("part-999").count()) > 0;
    });
    const names = await shown();
    assert.deepEqual(names, [...new Set(names)]);
  });

  walk("the new password of a pull token stays when its row moves out of sight", async ({ page }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "rotated" } });
    for (let index = 0; index < 80; index++) {
      const pullToken = { name: `machine-${index}`, rights: [PullToken_Right.IMAGES_PULL], ttl: { seconds: BigInt(86_400 * (index + 1)) } };
      await world.must(PullTokensService.method.createPullToken, { parent: uid, pullToken });
    }
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${uid}/pull-tokens?order=expire_time`);
    await row(page, /^machine-0 /)
      .getByRole("button", { name: "New password" })
      .click();
    await page.getByLabel("Valid for days").fill("300");
    await page.getByRole("button", { name: "Replace the password" }).click();
    const secret = page.getByRole("dialog", { name: "Pull token machine-0" });
    await secret.waitFor();
    await row(page, /^machine-0 /).waitFor({ state: "detached" });
    await secret.getByRole("button", { name: "Copy password" }).waitFor();
  });

  walk("a filter keeps what is typed while the list follows", async ({ page }) => {
    const uid = await withGroups();
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${uid}/repositories`);
    const field = page.getByLabel("Name");
    await field.pressSequentially("base ");
    await page.waitForURL(/name=base$/);
    await page.getByText("Nothing matches the filters.").waitFor();
    await field.pressSequentially("image");
    await page.waitForURL(/name=base\+image$/);
    assert.equal(await field.inputValue(), "base image");
  });
});
