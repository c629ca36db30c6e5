/** Tests that forms of the console keep input, send what is shown, and belong to the screen that is shown. */
import assert from "node:assert/strict";
import { DeliveriesService } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { until } from "../../server/test/harness/wait.ts";
import { describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("forms of the console", ({ world, walk }) => {
  const createGroup = (name: string, parent = world.orgUid) => world.must(GroupsService.method.createGroup, { parent, group: { name } });

  walk("what is typed while a form reads the stored values stays", async ({ page, screen }) => {
    const { uid } = await createGroup("typed-on");
    await signInByLink(page, world);
    await page.goto(screen(`/group/${uid}`));
    await page.getByRole("button", { name: "Edit" }).click();
    const description = page.getByRole("textbox", { name: "Description" });
    await description.fill("mine");
    const other = { group: { uid, description: "theirs" }, updateMask: { paths: ["description"] } };
    await world.must(GroupsService.method.updateGroup, other);
    const read = Promise.withResolvers<void>();
    await page.route("**/GetGroup", async (route) => {
      await read.promise;
      await route.continue();
    });
    await page.getByRole("button", { name: "Save" }).click();
    await description.fill("mine, and more");
    read.resolve();
    await page.getByRole("alert").filter({ hasText: "Somebody else has changed this meanwhile" }).waitFor();
    assert.equal(await description.inputValue(), "mine, and more");
  });

  walk("a dialog about one group closes when the person goes back to another one", async ({ page, screen }) => {
    const { uid } = await createGroup("above");
    await createGroup("below", uid);
    await signInByLink(page, world);
    await page.goto(screen(`/group/${uid}?tab=groups`));
    await page.getByRole("link", { name: "below" }).click();
    await page.getByRole("heading", { name: "below" }).waitFor();
    await page.getByRole("button", { name: "New group" }).click();
    await page.getByRole("dialog", { name: "New group" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "above" }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  walk("a date without a time sends no failed events again", async ({ page, screen }) => {
    const subscription = { sink: "https://sink.test/" };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: world.orgUid, subscription });
    await signInByLink(page, world);
    await page.goto(screen(`/subscription/${uid}`));
    let isSent = false;
    await page.route(`**/${DeliveriesService.method.redeliver.name}`, (route) => {
      isSent = true;
      return route.continue();
    });
    await page.getByRole("button", { name: "Send failed again" }).click();
    const since = page.getByLabel("Events since (UTC)");
    await since.pressSequentially("01022026");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await until(() => since.evaluate((field) => field.matches(":focus")));
    assert.equal(isSent, false);
    await since.fill("2026-01-02T10:00");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("0 will be sent again").waitFor();
  });

  walk("commands name a group by its uid where its name cannot be in a path", async ({ page, screen }) => {
    const { uid } = await createGroup("two words");
    const { uid: repo } = await world.must(ReposService.method.createRepo, { parent: uid, repo: { name: "app" } });
    const part = uid.split("/").at(-1);
    await signInByLink(page, world);
    await page.goto(screen(`/repository/${repo}?tab=pull`));
    await page.getByText(`docker pull ${new URL(world.baseUrl).host}/my-org/${part}/app:TAG`).waitFor();
    await page.goto(screen(`/libraries?group=${encodeURIComponent(uid)}`));
    await page.getByRole("button", { name: "Setup" }).click();
    await page.getByText(`/libraries/python/my-org:${part}/simple/`).first().waitFor();
    await page.keyboard.press("Escape");
  });
});
