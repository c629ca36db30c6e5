/** The API browser and the manual, in a real browser against a real server. */
import type { Page } from "playwright-core";
import { until } from "../../server/test/harness/wait.ts";
import { describeConsole } from "./console-world.ts";

await describeConsole("the API browser and the manual", ({ world, walk }) => {
  walk("the API browser explains tokens, and calls an operation with the example of its body", async ({ page }) => {
    await page.goto(`${world.baseUrl}/docs`);
    await page.getByRole("heading", { name: "Tokens", exact: true }).waitFor();
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByRole("textbox", { name: "auth-bearer-value" }).fill(world.token);
    await page.getByLabel("Apply credentials").click();
    await page.getByRole("button", { name: "Close" }).click();
    await openOperation(page, "Access: Groups", "/iam/v2/groups/{uid}", "post");
    const operation = page.locator(".opblock.is-open");
    await operation.getByRole("button", { name: "Try it out" }).click();
    await until(async () => (await operation.locator("textarea").inputValue()).includes('"name": "web-shop"'));
    await operation.getByRole("textbox").first().fill(world.orgUid);
    await operation.getByRole("button", { name: "Execute" }).click();
    await operation
      .locator(".live-responses-table")
      .getByText(/"uid": "/)
      .waitFor();
  });

  walk("the API browser and the manual fit a phone and have dark colors", async ({ page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    const address = `${world.baseUrl}/docs`;
    for (const path of ["", "/manual", "/manual/authentication", "/manual/configuration"]) {
      await page.goto(`${address}${path}`);
      if (path === "") await openOperation(page, "Access: Identities", "/iam/v2/identities/{uid}", "post");
      await page.getByRole("main").waitFor();
      await until(async () => (await page.evaluate<number>("document.documentElement.scrollWidth")) <= 360);
      for (const [colorScheme, isBright] of [
        ["light", true],
        ["dark", false],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await until(async () => (await brightness(page, "body")) > 128 === isBright);
        if (path === "") await until(async () => (await brightness(page, ".info p", "color")) > 128 !== isBright);
      }
    }
  });
});

async function openOperation(page: Page, tag: string, path: string, method: string): Promise<void> {
  await page.locator(`.opblock-tag[data-tag="${tag}"]`).click();
  await page
    .locator(`.opblock-${method}`)
    .filter({ has: page.locator(`[data-path="${path}"]`) })
    .locator(".opblock-summary-control")
    .first()
    .click();
  await page.locator(".opblock.is-open .opblock-body").waitFor();
}

/** From 0 to 255. */
async function brightness(page: Page, selector: string, property = "backgroundColor"): Promise<number> {
  const color = await page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).${property}`);
  const parts = (/\((.*?)\)/.exec(color)?.[1] ?? "").split(",").slice(0, 3).map(Number);
  return parts.reduce((sum, part) => sum + part, 0) / 3;
}
