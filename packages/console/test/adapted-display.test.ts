/** Tests the console at 400 % zoom (WCAG 2.2, 1.4.10), with wide text spacing (1.4.12), and in the colors of the system. */
import assert from "node:assert/strict";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { Page } from "playwright-core";
import { createMachine, describeConsole, signInByLink } from "./console-world.ts";

/** 1280 by 1024 pixels at 400 %. */
const ZOOMED = { width: 320, height: 256 };
const SPACING = "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }";

await describeConsole("the console with an adapted display", ({ world, walk }) => {
  walk("at 400 % zoom, lists show their texts, and the title of a dialog leaves room for its button", async ({ page, screen }) => {
    await createMachine(world, "zoomed", "repo:acme/web-shop:ref:refs/heads/main");
    const { roles } = await world.must(RolesService.method.listRoles, { name: "viewer" });
    const groupInvite = { roleUid: roles[0]?.uid ?? "", ttl: { seconds: 86_400n } };
    await world.must(GroupInvitesService.method.createGroupInvite, { parent: world.orgUid, groupInvite });
    await signInByLink(page, world);
    await page.setViewportSize(ZOOMED);
    await page.goto(screen("/identities"));
    await page.getByRole("row", { name: "zoomed" }).waitFor();
    assert.deepEqual(await cutTexts(page), []);
    await page.goto(screen("/invites"));
    await page.getByRole("button", { name: "Delete" }).press("Enter");
    const dialog = page.getByRole("dialog");
    const close = await dialog.getByRole("button", { name: "Close" }).boundingBox();
    assert.ok(close !== null && close.x + close.width <= ZOOMED.width, JSON.stringify(close));
  });

  walk("at 400 % zoom and with wide text spacing, the page does not scroll sideways", async ({ page }) => {
    await signInByLink(page, world);
    await page.setViewportSize(ZOOMED);
    await page.goto(`${world.baseUrl}/console/?all=1`);
    await page.getByRole("row", { name: "my-org" }).waitFor();
    await page.evaluate(`document.adoptedStyleSheets = [new CSSStyleSheet()];
      document.adoptedStyleSheets[0].replaceSync(${JSON.stringify(SPACING)})`);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), ZOOMED.width);
  });

  walk("in the colors of the system, states that are drawn as backgrounds are visible", async ({ page, screen }) => {
    await page.emulateMedia({ forcedColors: "active", colorScheme: "light", reducedMotion: "reduce" });
    await signInByLink(page, world);
    await page.goto(screen(`/group/${world.orgUid}`));
    await page.getByRole("tab", { name: "Details" }).waitFor();
    assert.equal(await styleOf(page, "nav [aria-current=page]", "border-left-width"), "4px");
    assert.equal(await styleOf(page, "[role=tab][aria-selected=true]", "border-bottom-width"), "4px");
    await page.goto(screen("/roles"));
    await page.getByRole("button", { name: "Columns" }).press("Enter");
    await page.getByRole("checkbox", { name: "Name" }).waitFor();
    assert.equal(await styleOf(page, ".mantine-Checkbox-icon", "color"), await styleOf(page, "body", "color"));
    await page.keyboard.press("Escape");
    await page.getByRole("combobox", { name: "From" }).press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.locator("[role=option][data-combobox-selected]").waitFor();
    assert.equal(await styleOf(page, "[role=option][data-combobox-selected]", "outline-style"), "solid");
  });
});

/** Texts of the list that are longer than their cells show. */
function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll("td bdi")]
    .filter(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 2)
    .filter((element) => getComputedStyle(element).overflowY === "hidden")
    .map(({ innerText }) => innerText)`);
}

function styleOf(page: Page, selector: string, property: string): Promise<string> {
  return page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).getPropertyValue("${property}")`);
}
