/** The console while the server cannot be reached, and after that. */
import assert from "node:assert/strict";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { until } from "../../server/test/harness/wait.ts";
import { assertAccessible, createMachine, describeConsole, signInByLink } from "./console-world.ts";
import { countRequests, settled } from "./screen-walk.ts";

const UNREACHABLE = "The server cannot be reached";

await describeConsole("the console and its connection", ({ world, walk }) => {
  walk(
    "a form, a list and a screen say that the server cannot be reached, and go on when it can",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("typed-offline");
      await page.context().setOffline(true);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("dialog").getByRole("alert").getByText(UNREACHABLE).waitFor();
      assert.equal(await page.getByLabel("Name").inputValue(), "typed-offline");
      await page.context().setOffline(false);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("treeitem").getByRole("link", { name: "typed-offline" }).click();
      await page.getByRole("tab", { name: "Groups in it" }).waitFor();

      await page.context().setOffline(true);
      await page.getByRole("tab", { name: "Groups in it" }).click();
      await page.getByRole("alert", { name: "The list cannot be shown" }).getByText(UNREACHABLE).waitFor();
      await page.context().setOffline(false);
      await page.getByText("There are no groups in here").waitFor();

      await page.context().setOffline(true);
      await page.getByRole("link", { name: "Identity providers" }).click();
      await page.getByRole("heading", { name: "This screen does not work" }).waitFor();
      await page.getByRole("alert").getByText(UNREACHABLE).waitFor();
      await page.context().setOffline(false);
      await assertAccessible(page);
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "Identity providers" }).waitFor();
    },
    { expected: [/ERR_INTERNET_DISCONNECTED/] },
  );

  walk(
    "a page of an earlier release loads itself again when it misses a file",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/groups"));
      await page.getByRole("treeitem").first().waitFor();
      await page.evaluate("globalThis.isEarlier = true");
      // The route stays: to remove it while the page loads again would be a race in the browser.
      let isMissing = true;
      await page.context().route(/\/assets\/roles-/, async (route) => {
        if (!isMissing) return route.continue();
        isMissing = false;
        await route.fulfill({ status: 404 });
      });
      await page.getByRole("link", { name: "Roles" }).click();
      await page.getByRole("heading", { name: "Roles" }).waitFor();
      assert.equal(await page.evaluate("'isEarlier' in globalThis"), false);
    },
    { expected: [/status of 404/] },
  );

  walk(
    "a screen keeps its object and its form while the object cannot be read again",
    async ({ page, screen }) => {
      const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "kept" } });
      const requests = countRequests(page);
      await signInByLink(page, world);
      await page.goto(screen(`/group/${uid}`));
      await page.getByRole("heading", { name: "kept" }).waitFor();
      await settled(page, requests);
      let attempts = 0;
      await page.route(/\/GetGroup$/, (route) => {
        if (route.request().postData()?.includes(uid)) attempts++;
        return route.fulfill({ status: 503 });
      });
      await page.getByRole("button", { name: "New group" }).click();
      await page.getByLabel("Name").fill("below");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Description" }).fill("typed");
      await until(() => attempts >= 3);
      await settled(page, requests);
      assert.equal(await page.getByRole("textbox", { name: "Description" }).inputValue(), "typed");
      await page.unroute(/\/GetGroup$/);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("main").getByText("typed").waitFor();
    },
    { expected: [/status of 503/] },
  );

  walk(
    "a field that finds identities says that it searches, and that the search failed",
    async ({ page, screen }) => {
      await createMachine(world, "robot");
      await signInByLink(page, world);
      await page.goto(screen(`/group/${world.orgUid}?tab=access`));
      await page.getByRole("button", { name: "Bind a role" }).click();
      const answered = Promise.withResolvers<void>();
      await page.route(/\/Search$/, async (route) => {
        await answered.promise;
        await route.continue();
      });
      await page.getByRole("combobox", { name: "Identity" }).fill("rob");
      await page.getByText("Searching…").waitFor();
      assert.equal(await page.getByText("Nothing has this in its name").count(), 0);
      answered.resolve();
      await page.getByRole("option", { name: /^robot/ }).waitFor();
      await page.unroute(/\/Search$/);
      await page.route(/\/Search$/, (route) => route.fulfill({ status: 500 }));
      await page.getByRole("combobox", { name: "Identity" }).fill("other");
      await page.getByText("The search failed").waitFor();
    },
    { expected: [/status of 500/] },
  );

  walk(
    "a person who cannot be signed out is told so",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/"));
      await page.getByRole("heading", { name: "my-org" }).waitFor();
      await page.context().setOffline(true);
      await page.getByRole("button", { name: /you and this browser/ }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      const dialog = page.getByRole("dialog", { name: "You are still signed in" });
      await dialog.getByText(UNREACHABLE).waitFor();
      await page.context().setOffline(false);
      await dialog.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "Sign in to Holt" }).waitFor();
    },
    { expected: [/ERR_INTERNET_DISCONNECTED/] },
  );
});
