/** Tests the parts that all screens of the console share: titles, marks of the current screen, the focus, and refused or failing requests. */
import assert from "node:assert/strict";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { Page } from "playwright-core";
import { until } from "../../server/test/harness/wait.ts";
import { assertAccessible, describeConsole, signInAtProvider, signInByLink } from "./console-world.ts";
import { countRequests, goTo, settled } from "./screen-walk.ts";

await describeConsole("the frame of the console", ({ world, walk }) => {
  walk("each screen has a title of its own, and the navigation marks the current screen only", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "titled" } });
    const requests = countRequests(page);
    await signInByLink(page, world);
    await until(async () => (await page.title()) === "Your organizations – Holt");
    await page.goto(screen(""));
    for (const [path, title, current] of [
      ["", "Home – my-org – Holt", "Home"],
      [`/group/${uid}`, "titled – Group – my-org – Holt", "Groups"],
      ["/repositories", "Images – my-org – Holt", "Images"],
    ] as const) {
      await goTo(page, screen(path));
      await settled(page, requests);
      await until(async () => (await page.title()) === title);
      assert.deepEqual(await page.locator("nav [aria-current]").allInnerTexts(), [current]);
    }
  });

  walk(
    "a page of a list that is refused is read again only when the person asks for it",
    async ({ page }) => {
      const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "refused" } });
      for (let number = 0; number < 110; number++)
        await world.must(ReposService.method.createRepo, { parent: uid, repo: { name: `repo-${100 + number}` } });
      await signInByLink(page, world);
      const refused = await refuseFurtherPages(page);
      await page.goto(`${world.baseUrl}/console/${uid}/repositories`);
      await page.getByText("100 of 110 loaded").waitFor();
      await page.getByRole("region", { name: "Image repositories" }).evaluate((list) => list.scrollTo(0, 1e6));
      const alert = page.getByRole("alert").filter({ hasText: "Further entries cannot be loaded" });
      await alert.waitFor();
      await page.getByRole("row", { name: "repo-199" }).waitFor();
      // Each frame would begin another request.
      for (let frame = 0; frame < 60; frame++) await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
      assert.equal(refused.count, 1);
      await page.unroute(LIST);
      await alert.getByRole("button", { name: "Try again" }).click();
      await page.getByText("110 entries").waitFor();
    },
    { expected: [/status of 403/] },
  );

  walk(
    "recent events go on after the server could not be reached",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/events"));
      await page.getByText("New ones appear by themselves").waitFor();
      await page.route("**/holt.v1.EventsService/ListEvents", (route) => route.abort());
      await page.getByRole("alert").getByText("The server cannot be reached").waitFor();
      await page.unroute("**/holt.v1.EventsService/ListEvents");
      await page.getByText("New ones appear by themselves").waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
    },
    { expected: [/ERR_FAILED/] },
  );

  walk(
    "a page that could not find its session tries again when the person asks for it",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.route("**/oauth/session", (route) => route.fulfill({ status: 503 }));
      await page.goto(screen("/groups"));
      await page.getByRole("alert").getByText("The server answered with status 503").waitFor();
      await page.unroute("**/oauth/session");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "Groups" }).waitFor();
    },
    { expected: [/status of 503/, /SignInError/] },
  );

  walk("a page that is left open shows how long ago something was, not how long ago it was then", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "left-open" } });
    await signInByLink(page, world);
    await page.clock.install({ time: world.clock.now() });
    await page.goto(screen(`/group/${uid}`));
    await page.getByRole("row", { name: /^Created .*second/ }).waitFor();
    await page.clock.fastForward("10:00");
    await page.getByRole("row", { name: "Created 10 minutes ago" }).waitFor();
  });

  walk("a page that follows events for a long time keeps no listener of each pause", async ({ page, screen }) => {
    await page.addInitScript(COUNT_LISTENERS);
    await signInByLink(page, world);
    await page.clock.install({ time: world.clock.now() });
    await page.goto(screen("/events"));
    let reads = 0;
    page.on("response", (response) => {
      if (response.url().endsWith("/ListEvents")) reads++;
    });
    await until(async () => {
      await page.clock.fastForward(5_000);
      return reads >= 10;
    });
    assert.ok((await page.evaluate<number>("mostListeners")) < 8);
  });

  walk(
    "a form says that a proxy answered in place of the server, and keeps its input",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("behind-a-proxy");
      await page.route("**/CreateGroup", (route) => route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }));
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("alert").getByText("The server, or a proxy in front of it, answered HTTP 502. Try again").waitFor();
      assert.equal(await page.getByLabel("Name").inputValue(), "behind-a-proxy");
    },
    { expected: [/status of 502/] },
  );

  walk(
    "the list of organizations says that the server cannot be reached, and tries again",
    async ({ page }) => {
      await signInByLink(page, world);
      await page.route("**/ListGroups", (route) => route.abort());
      await page.goto(`${world.baseUrl}/console/?all=1`);
      await page.getByText("The server cannot be reached").waitFor();
      await page.unroute("**/ListGroups");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "Your organizations" }).waitFor();
    },
    { expected: [/ERR_FAILED/] },
  );

  walk(
    "a person with rights in one folder gets to it, and sees no error on Home",
    async ({ page }) => {
      await leaveOneFolder(page);
      await page.goto(`${world.baseUrl}/console/`);
      await page.getByRole("heading", { name: "Organization", exact: true }).waitFor();
      assert.equal(page.url(), `${world.baseUrl}/console/${world.acme.uid}`);
      await page.getByRole("link", { name: "Groups" }).first().click();
      await page.getByRole("treeitem", { name: "folder" }).waitFor();
      await page.goto(`${world.baseUrl}/console/?all=1`);
      await page.getByRole("heading", { name: "Organizations in which you see some groups" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("link", { name: "folder" }).click();
      await page.getByRole("heading", { name: "Organization", exact: true }).waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
    },
    { expected: [/status of 403/] },
  );

  /** Signs a person in and leaves rights in one folder only. */
  async function leaveOneFolder(page: Page): Promise<void> {
    const { uid: parent } = world.acme;
    const { uid: group } = await world.must(GroupsService.method.createGroup, { parent, group: { name: "folder" } });
    await signInAtProvider(page, world, "dora");
    const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { group: parent });
    const binding = roleBindings.find((each) => each.roleUid === world.acme.defaultRole);
    assert.ok(binding);
    const roleUid = await world.role(group, [Capability.CAP_IAM_GROUPS_LIST]);
    await world.must(RoleBindingsService.method.createRoleBinding, {
      parent: group,
      roleBinding: { identityUid: binding.identityUid, roleUid },
    });
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding.uid });
  }

  walk("on a narrow phone, the name of the organization and the button that copies a uid are whole", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.setViewportSize({ width: 320, height: 740 });
    await page.goto(screen(`/group/${world.orgUid}`));
    for (const name of ["Organization my-org", "Copy uid"]) {
      const label = page.getByRole("button", { name }).locator(".mantine-Button-label");
      assert.deepEqual(await label.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), 0, name);
    }
  });

  walk("the button that copies a uid says so to screen readers", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.context().grantPermissions(["clipboard-write"]);
    await page.goto(screen(""));
    await copyUid(page);
  });

  walk("the button that copies a uid works where the browser has no clipboard, as without HTTPS", async ({ page, screen }) => {
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await signInByLink(page, world);
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "copied" } });
    await page.goto(screen(`/group/${uid}?tab=access`));
    await copyUid(page);
    await page.getByRole("button", { name: "New group" }).click();
    const field = page.getByLabel("Name");
    await field.press("Control+V");
    await until(async () => (await field.inputValue()) === uid);
  });

  walk("a dialog that closes gives the focus back to the button that opened it", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/groups"));
    const button = page.getByRole("button", { name: "New group" });
    const isFocused = () => button.evaluate((element) => element.matches(":focus"));
    await button.press("Enter");
    await page.getByRole("dialog", { name: "New group" }).waitFor();
    await page.keyboard.press("Escape");
    await until(isFocused);
    await button.press("Enter");
    await page.getByRole("textbox", { name: "Name" }).fill("by-keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem", { name: "by-keyboard" }).waitFor();
    await until(isFocused);
  });

  walk("the address of an image without a repository says that there is no such image", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/image/sha256:0123"));
    await page.getByRole("heading", { name: "There is no such image" }).waitFor();
  });

  walk(
    "an error names a wrong field once",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/repositories?order=size"));
      const alert = await page.getByRole("alert").innerText();
      assert.equal(alert.match(/order_by must name one of/g)?.length, 1, alert);
    },
    { expected: [/status of 400/] },
  );
});

/** Presses the button that copies a uid. Its name says for a second only that it has done so, so each name is recorded. */
async function copyUid(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Copy uid" }).waitFor();
  await page.evaluate(`(() => {
    const button = document.querySelector("button[aria-label='Copy uid']");
    const record = () => { button.dataset.names = (button.dataset.names ?? "") + button.ariaLabel + ";"; };
    new MutationObserver(record).observe(button, { attributeFilter: ["aria-label"] });
  })()`);
  await page.getByRole("button", { name: "Copy uid" }).click();
  await page.locator("button[data-names^='Copied uid;']").waitFor();
}

const LIST = "**/platform.registry.v2.ReposService/ListRepos";

/** Answers like a server that refuses all pages but the first. */
async function refuseFurtherPages(page: Page): Promise<{ readonly count: number }> {
  const refused = { count: 0 };
  const refusal = { status: 403, contentType: "application/json", body: JSON.stringify({ code: "permission_denied", message: "refused" }) };
  await page.route(LIST, (route) => {
    if (!route.request().postData()?.includes("pageToken")) return route.continue();
    refused.count++;
    return route.fulfill(refusal);
  });
  return refused;
}

/** Keeps the largest number of listeners that a signal has had at a time. */
const COUNT_LISTENERS = `(() => {
  const counts = new WeakMap();
  globalThis.mostListeners = 0;
  for (const [name, step] of [["addEventListener", 1], ["removeEventListener", -1]]) {
    const original = AbortSignal.prototype[name];
    AbortSignal.prototype[name] = function (...parameters) {
      const count = (counts.get(this) ?? 0) + step;
      counts.set(this, count);
      globalThis.mostListeners = Math.max(globalThis.mostListeners, count);
      return original.apply(this, parameters);
    };
  }
})()`;
