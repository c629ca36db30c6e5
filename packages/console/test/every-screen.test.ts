/** Every screen, tab, dialog and step of a wizard: axe-core finds nothing, the keyboard reaches everything. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { AccountAssociationsService } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { Page } from "playwright-core";
import { launchChromium } from "../../server/test/harness/sign-in/chromium.ts";
import { type SignInWorld, startSignInWorld } from "../../server/test/harness/sign-in/sign-in-world.ts";
import { assertFitsPhone, assertNoFindings, buildConsole, drawIn, signInByLink, type WatchedPage, watchPage } from "./console-world.ts";
import { addAddresses, countRequests, goTo, linksOn, missedByTab, openersOf, routesOf, settled, unreachable } from "./screen-walk.ts";

const chromium = await launchChromium();
const skip = chromium === undefined ? "Chromium does not start on this machine" : false;
const DEMO = join(import.meta.dirname, "../../../scripts/demo/demo.js");
/** Addresses below that of an organization. Read, not imported: the screens are for browsers. */
const paths = [...readFileSync(join(import.meta.dirname, "../src/app/screens.ts"), "utf8").matchAll(/\bpath: "(.+?)"/g)].map(
  ([, path = ""]) => `/$organization${path === "/" ? "" : path}`,
);
const POPUP = ":is([role=dialog], [role=menu], [role=listbox])";
/** Buttons that are the same on each list, and those of events by their types; they are checked on the first list. */
const ON_EACH_LIST = /^(Export|Saved filters|[a-z.]+\.[a-z_.]+\.v1)$/;
/** Stands for all buttons that are the same. */
function groupOf(name: string): string {
  return name.endsWith(".v1") ? "event" : name;
}
/** The same on each screen of an organization; checked on Home, with their menus. */
const FRAME = ["header", "nav"];
/** The frame of all objects has these tabs; they are checked on the first of them. */
const ON_EACH_OBJECT = new Set(["Access", "Call"]);

describe("every screen of the console", { skip }, () => {
  const world = {} as SignInWorld;
  const addresses = new Map<string, string>();
  const seenButtons = new Set<string>();
  const seenTabs = new Set<string>();
  let routes: readonly string[] = [];
  let watched: WatchedPage;
  let page: Page;
  let requests: () => number;
  before(async () => {
    buildConsole();
    Object.assign(world, await startSignInWorld());
    await promisify(execFile)(process.execPath, [DEMO], { env: { HOLT_BASE_URL: world.baseUrl, TOKEN: world.token } });
    const { groups } = await world.must(GroupsService.method.listGroups, { uidp: { inRoot: true }, name: "demo" });
    const parent = groups[0]?.uid ?? "";
    await fillTheRest(world, parent);
    const start = `${world.baseUrl}/console/${parent}`;
    addresses.set("/", `${world.baseUrl}/console/?all=1`).set("/$organization", start);
    // Buttons lead there.
    addresses.set("/$organization/new-identity", `${start}/new-identity`);
    assert.ok(chromium);
    watched = await watchPage(chromium, world);
    page = watched.page;
    requests = countRequests(page);
    await signInByLink(page, world);
    // The document of all tests.
    await page.goto(start);
    routes = await routesOf(page);
  });
  after(async () => {
    await chromium?.close();
    await world[Symbol.asyncDispose]();
  });

  test("the accessibility tests cover every route of the router", () => {
    assert.deepEqual([...routes].sort(), ["/", "/sign-in", ...paths].sort());
  });

  for (const route of ["/", ...paths])
    test(`axe-core finds nothing on ${route}, its tabs and dialogs, and the keyboard reaches all of it`, async () => {
      const address = addresses.get(route);
      assert.ok(address, `no link leads to ${route}`);
      await goTo(page, address);
      await checkState("main");
      for (const tab of (await page.getByRole("main").getByRole("tab").all()).slice(1)) {
        const title = (await tab.textContent()) ?? "";
        if (ON_EACH_OBJECT.has(title) && seenTabs.has(title)) continue;
        seenTabs.add(title);
        await tab.press("Enter");
        await checkState("main [role=tabpanel]");
      }
      watched.assertNoErrors();
    });

  test("axe-core finds nothing in the menus of the header and in the command palette, and the keyboard reaches all of them", async () => {
    await page.goto(addresses.get("/$organization") ?? "");
    await settled(page, requests);
    await checkColors(undefined, []);
    await checkPopups("header");
    await page.keyboard.press("Control+K");
    await page.getByPlaceholder("Find a screen").fill("storef");
    await page.locator("[data-action]").filter({ hasText: "storefront" }).waitFor();
    await settled(page, requests);
    await checkColors(POPUP);
    await assertFitsPhone(page);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("main").getByRole("heading", { name: "storefront" }).waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole("button", { name: "Navigation" }).press("Enter");
    await page.getByRole("navigation", { name: "Screens" }).waitFor();
    await checkColors(undefined, []);
    assert.deepEqual(await missedByTab(page, "body"), []);
    await page.setViewportSize({ width: 1280, height: 720 });
    watched.assertNoErrors();
  });

  /** Checks the screen as it is, then each choice of it, then each dialog that a button opens. Its tabs share what is around them. */
  async function checkState(within: string): Promise<void> {
    const isFirst = within === "main";
    await settled(page, requests);
    addAddresses(addresses, { base: `${world.baseUrl}/console`, routes, links: await linksOn(page) });
    await checkColors(isFirst ? undefined : within);
    await assertFitsPhone(page, isFirst ? () => assertNoFindings(page, { without: FRAME }) : undefined);
    await checkChoices();
    await checkPopups(within);
  }

  async function checkColors(within: string | undefined, without: readonly string[] = FRAME): Promise<void> {
    const scope = { within, without };
    await assertNoFindings(page, scope);
    await drawIn(page, "dark");
    await assertNoFindings(page, { ...scope, rules: ["color-contrast"] });
    await drawIn(page, "light");
    assert.deepEqual(await unreachable(page), [], page.url());
  }

  async function checkChoices(): Promise<void> {
    for (const radio of await page.getByRole("main").getByRole("radio").all()) {
      if (await radio.isChecked()) continue;
      await radio.focus();
      await page.keyboard.press("Space");
      await settled(page, requests);
      await checkColors("main");
    }
  }

  /** Pressing a button can show others. */
  async function checkPopups(within: string): Promise<void> {
    const address = page.url();
    const pressed = new Set<string>();
    for (;;) {
      const isNew = (each: string) => !pressed.has(each) && !(ON_EACH_LIST.test(each) && seenButtons.has(groupOf(each)));
      const name = (await openersOf(page, within)).find(isNew);
      if (name === undefined) return;
      pressed.add(name);
      seenButtons.add(groupOf(name));
      await page.locator(within).getByRole("button", { name, exact: true }).first().press("Enter");
      await settled(page, requests);
      if ((await page.locator(`${POPUP}:visible`).count()) > 0) await checkPopup();
      if (page.url() !== address) {
        await goTo(page, address);
        await settled(page, requests);
      }
    }
  }

  async function checkPopup(): Promise<void> {
    await checkColors(POPUP);
    await assertFitsPhone(page);
    // A secret that is shown once does not close by accident.
    const copied = page.getByRole("button", { name: "I have copied it" });
    // The first Escape closes the choices of a field in the dialog.
    for (let attempt = 0; attempt < 2 && (await page.locator(`${POPUP}:visible`).count()) > 0; attempt++) {
      if ((await copied.count()) > 0) await copied.press("Enter");
      else await page.keyboard.press("Escape");
      await settled(page, requests);
    }
    await page.locator(`${POPUP}:visible`).first().waitFor({ state: "detached" });
  }
});

/** Objects that the demonstration organization does not have. */
async function fillTheRest(world: SignInWorld, parent: string): Promise<void> {
  const oidc = { issuer: "https://sso.acme.test", clientId: "holt", clientSecret: "a secret", additionalScopes: ["email"] };
  const { roles } = await world.must(RolesService.method.listRoles, { name: "viewer" });
  const defaultRole = roles[0]?.uid ?? "";
  const identityProvider = { name: "sso", defaultRole, configuration: { case: "oidc", value: oidc } } as const;
  await world.must(IdentityProvidersService.method.createIdentityProvider, { parent, identityProvider });
  await world.must(ImportsService.method.createImport, { parent, kind: ImportKind.ADVISORIES, fileName: "empty.json" });
  const accountAssociation = { name: "clouds", amazon: { account: "123456789012" } };
  await world.must(AccountAssociationsService.method.createAccountAssociation, { parent, accountAssociation });
}
