/** Tests where the focus is after the element that had it goes away: a button that loads, a removed row, a list in another order. */
import assert from "node:assert/strict";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { Locator } from "playwright-core";
import { until } from "../../server/test/harness/wait.ts";
import { describeConsole, signInByLink } from "./console-world.ts";
import { countRequests, settled } from "./screen-walk.ts";

await describeConsole("the focus in the console", ({ world, walk }) => {
  const isFocused = (element: Locator) => element.evaluate((found) => found.matches(":focus"));

  walk(
    "a form that is refused shows the error, and leaves the focus at the button that sent it",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.setViewportSize({ width: 320, height: 256 });
      await page.goto(screen("/account-associations"));
      await page.getByRole("button", { name: "New cloud account" }).press("Enter");
      await page.getByRole("textbox", { name: "Name" }).fill("NOT VALID!");
      const create = page.getByRole("dialog").getByRole("button", { name: "Create" });
      await create.press("Enter");
      const alert = page.getByRole("alert");
      await alert.waitFor();
      await until(async () => (await create.getAttribute("aria-disabled")) === null);
      assert.ok(await isFocused(create));
      const box = await alert.boundingBox();
      assert.ok(box !== null && box.y < 256 && box.y + box.height > 0, JSON.stringify(box));
    },
    { expected: [/status of 400/] },
  );

  walk("the question about unsaved input has the focus, and gives it back to the field", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/groups"));
    const open = page.getByRole("button", { name: "New group" });
    await open.press("Enter");
    const field = page.getByRole("textbox", { name: "Description" });
    await field.fill("of a group");
    await field.press("Escape");
    const keep = page.getByRole("button", { name: "Keep editing" });
    await until(() => isFocused(keep));
    await keep.press("Enter");
    await until(() => isFocused(field));
    await field.press("Escape");
    await page.getByRole("button", { name: "Discard it" }).press("Enter");
    await until(() => isFocused(open));
  });

  walk("the focus goes to the next row when its row is removed from a list, and to the screen after the last one", async ({ page }) => {
    const { uid: parent } = await world.must(GroupsService.method.createGroup, { group: { name: "invited" } });
    const { roles } = await world.must(RolesService.method.listRoles, { name: "viewer" });
    const groupInvite = { roleUid: roles[0]?.uid ?? "", ttl: { seconds: 86_400n } };
    for (let count = 0; count < 2; count++) await world.must(GroupInvitesService.method.createGroupInvite, { parent, groupInvite });
    await signInByLink(page, world);
    await page.goto(`${world.baseUrl}/console/${parent}/invites`);
    const removeFirst = async () => {
      await page.getByRole("row").getByRole("button", { name: "Delete" }).first().press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await removeFirst();
    await page.getByText("1 entry").waitFor();
    await until(() => isFocused(page.getByRole("row").nth(1)));
    await removeFirst();
    await page.getByText("Nobody is invited").waitFor();
    await until(() => isFocused(page.getByRole("main")));
  });

  walk("a list keeps the focus at the heading that orders it, and at the button that exports it", async ({ page, screen }) => {
    const requests = countRequests(page);
    await signInByLink(page, world);
    await page.goto(screen("/roles"));
    const heading = page.getByRole("columnheader", { name: "Name" });
    await heading.getByRole("button").press("Enter");
    await page.locator("[aria-sort=descending]").waitFor();
    await settled(page, requests);
    assert.ok(await isFocused(heading.getByRole("button")));
    const button = page.getByRole("button", { name: "Export" });
    await button.press("Enter");
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "All pages as CSV" }).press("Enter");
    await download;
    await until(() => isFocused(button));
  });
});
