/** Asserts that a page in a browser is accessible without sight, without a pointer, and on a small screen. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

/** WCAG 2.2, 1.4.6: contrast of text, required of all text here. */
const CONTRAST = 7;
const IN_PAGE = readFileSync(join(import.meta.dirname, "in-page.js"), "utf8")
  .trim()
  .replace(/;$/, "");
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const USABLE = "a, button, input:not([type=hidden]), textarea";

export async function assertAccessible(page: Page): Promise<void> {
  const title = await page.title();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await page.evaluate(`(${IN_PAGE})(${CONTRAST})`), [], `${title}, ${colorScheme}`);
    assert.deepEqual(await findWithAxe(page), [], `${title}, ${colorScheme}`);
  }
  await page.setViewportSize({ width: 320, height: 640 });
  assert.ok((await page.evaluate<number>("document.documentElement.scrollWidth")) <= 320, `${title} is wider than a small screen`);
  await page.setViewportSize({ width: 1280, height: 720 });
  await assertKeyboard(page, title);
}

/** All rules of axe-core. @returns the broken rules and the elements that break them */
function findWithAxe(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(async () => {
    if (window.axe === undefined) { ${AXE} }
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" "));
  })()`);
}

/** The Tab key reaches every control in the order of the page, and the focus is visible. */
async function assertKeyboard(page: Page, title: string): Promise<void> {
  const count = await page.locator(USABLE).count();
  await page.evaluate("document.activeElement?.blur()");
  for (let index = 0; index < count; index++) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate<[number, string]>(
      `[[...document.querySelectorAll(${JSON.stringify(USABLE)})].indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle]`,
    );
    assert.equal(found[0], index, `the order of the Tab key on ${title}`);
    assert.notEqual(found[1], "none", `the focus is not shown on ${title}`);
  }
}
