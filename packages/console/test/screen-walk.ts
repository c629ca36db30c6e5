/** Walks the screens of the console as a person without a pointer does, and knows when a screen has drawn itself. */
import type { Page } from "playwright-core";
import { until } from "../../server/test/harness/wait.ts";

/** The addresses of the router, such as `/$organization/role/$`. */
export async function routesOf(page: Page): Promise<string[]> {
  const paths = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  return [...new Set(paths.map(withoutSlash))];
}

/** Leads to an address of the console as a link does, without a new document. Input that is not saved is discarded. */
export async function goTo(page: Page, address: string): Promise<void> {
  const { pathname, search } = new URL(address);
  await page.evaluate(`__TSR_ROUTER__.history.push(${JSON.stringify(pathname + search)}, undefined, { ignoreBlocker: true })`);
  await page.waitForURL(address);
}

/** Requests of the page that have no answer yet. */
export function countRequests(page: Page): () => number {
  const open = new Set<unknown>();
  page.on("request", (request) => open.add(request));
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
  return () => open.size;
}

/** Runs after React has drawn: nothing loads, twice in a row. */
const IS_QUIET = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
  resolve(document.querySelector("main, [role=main], form") !== null && document.querySelector("[aria-label=Loading]") === null))))`;

export async function settled(page: Page, requests: () => number): Promise<void> {
  let quiet = 0;
  await until(async () => {
    quiet = (await page.evaluate<boolean>(IS_QUIET)) && requests() === 0 ? quiet + 1 : 0;
    return quiet === 2;
  });
}

export interface WalkOptions {
  readonly page: Page;
  /** Address of an organization's Home. */
  readonly start: string;
  readonly requests: () => number;
  /** Called at each screen, and at each of its tabs. */
  readonly onState?: (() => Promise<void>) | undefined;
}

/** The first address of each route that a link leads to, from a start on; each screen is opened once, with all its tabs. */
export async function addressesOf({ page, start, requests, onState }: WalkOptions): Promise<ReadonlyMap<string, string>> {
  const base = start.slice(0, start.indexOf("/console") + "/console".length);
  await page.goto(start);
  await settled(page, requests);
  const routes = await routesOf(page);
  const found = new Map([[routeOf(start.slice(base.length), routes), start]]);
  for (const [, address] of found) {
    await page.goto(address);
    addAddresses(found, { base, routes, links: await linksOf({ page, start, requests, onState }) });
  }
  return found;
}

export interface Links {
  /** Address of the console. */
  readonly base: string;
  readonly routes: readonly string[];
  readonly links: readonly string[];
}

/** Adds the first link to each route that has no address yet. */
export function addAddresses(found: Map<string, string>, { base, routes, links }: Links): void {
  for (const href of links) {
    if (!href.startsWith(`${base}/`)) continue;
    const route = routeOf(new URL(href).pathname.slice("/console".length), routes);
    if (!found.has(route)) found.set(route, href);
  }
}

export function linksOn(page: Page): Promise<string[]> {
  return page.evaluate<string[]>("[...document.querySelectorAll('a[href]')].map((link) => link.href)");
}

async function linksOf({ page, requests, onState }: WalkOptions): Promise<string[]> {
  const found: string[] = [];
  const look = async () => {
    await settled(page, requests);
    await onState?.();
    found.push(...(await linksOn(page)));
  };
  await look();
  for (const tab of await page.getByRole("tab").all()) {
    await tab.click();
    await look();
  }
  return found;
}

function routeOf(path: string, routes: readonly string[]): string {
  const parts = withoutSlash(path).split("/");
  const fits = (route: string) => {
    const names = route.split("/");
    return names.at(-1) === "$"
      ? parts.length >= names.length && names.slice(0, -1).every((name, index) => name.startsWith("$") || name === parts[index])
      : names.length === parts.length && names.every((name, index) => name.startsWith("$") || name === parts[index]);
  };
  return routes.filter(fits).sort((one, other) => fixedParts(other) - fixedParts(one))[0] ?? "";
}

function fixedParts(route: string): number {
  return route.split("/").filter((part) => !part.startsWith("$")).length;
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}

/** Elements that react to a click and that the keyboard cannot reach, as HTML. */
export async function unreachable(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const focusable = "a[href], button, input, select, textarea, label, summary, [tabindex]";
    // One of them is in the order of Tab, and the arrow keys lead to the others; those of the command palette have data-action.
    const composite = "[role=tab], [role=treeitem], [role=radio], [role=menuitem], [role=option], [role=listbox], [data-action]";
    const isClickable = (element) => {
      const key = Object.keys(element).find((name) => name.startsWith("__reactProps"));
      return key !== undefined && element[key].onClick !== undefined;
    };
    const isReachable = (element) =>
      element.closest(composite) !== null || (element.matches(focusable) && (element.tabIndex >= 0 || element.matches("label")));
    return [...document.querySelectorAll("main *, header *, nav *, [role=dialog] *")]
      .filter((element) => element.checkVisibility() && isClickable(element) && !isReachable(element))
      .filter((element) => element.closest("[aria-hidden=true]") === null)
      .map((element) => element.outerHTML.slice(0, 200));
  })()`);
}

/** Presses Tab through a part of the page, and returns as HTML what Tab did not lead to. */
export async function missedByTab(page: Page, within: string): Promise<string[]> {
  const count = await page.evaluate<number>(`(() => {
    globalThis.tabbed = new Set();
    document.addEventListener("focusin", ({ target }) => globalThis.tabbed.add(target));
    const part = document.querySelector("${within}");
    part.tabIndex = -1;
    part.focus();
    return part.querySelectorAll(${TABBABLE}).length;
  })()`);
  for (let presses = 0; presses <= count; presses++) await page.keyboard.press("Tab");
  return page.evaluate<string[]>(`(() => {
    // Tab leads to one radio button of a group, and the arrow keys to the others.
    const isOther = (element) => element.type === "radio" && !element.checked;
    return [...document.querySelector("${within}").querySelectorAll(${TABBABLE})]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }) && element.tabIndex >= 0 && !isOther(element))
      .filter((element) => !globalThis.tabbed.has(element))
      .map((element) => element.outerHTML.slice(0, 200));
  })()`);
}

/** Selector of what Tab may lead to, as JavaScript. */
const TABBABLE = '"a[href], button:not(:disabled), input:not(:disabled, [type=hidden]), select, textarea, summary, [tabindex]"';

/** Buttons that act at once, and do not open a dialog. */
const ACTS_AT_ONCE = /^(Print|Resume|Pause|Fetch now|Send again|Send a test event|Check |Retry|Switch on|Copy |Cop(y|ied)$)/;

/** Names of the buttons of a part of the page that may open a dialog or a menu; those of a list's first row stand for those of all rows. */
export async function openersOf(page: Page, within: string): Promise<string[]> {
  const names = await page.evaluate<string[]>(`(() => {
    const nameOf = (button) => {
      const hidden = button.querySelector("[aria-hidden=true]")?.innerText ?? "";
      return button.getAttribute("aria-label") ?? (hidden === "" ? button.innerText : button.innerText.replace(hidden, "")).trim();
    };
    return [...document.querySelectorAll("${within} button:not([role=tab], :disabled, [aria-disabled=true], th button, [role=columnheader] button)")]
      .filter((button) => button.checkVisibility() && !button.closest("tr, [role=row], li")?.previousElementSibling?.querySelector("button"))
      .map(nameOf);
  })()`);
  return [...new Set(names.filter((name) => name !== "" && !ACTS_AT_ONCE.test(name)))];
}
