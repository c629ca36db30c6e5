/** What all screens of the console share: titles, marks of the current screen, and refused or failing requests. */
import assert from "node:assert/strict";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { until } from "../../server/test/harness/wait.ts";
import { describeConsole, signInByLink } from "./console-world.ts";
import { countRequests, goTo, settled } from "./screen-walk.ts";

await describeConsole("the frame of the console", ({ world, walk }) => {
  walk("each screen has a title of its own, and the navigation marks the current screen only", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "titled" } });
    const requests = countRequests(page);
    await signInByLink(page, world);
    assert.equal(await page.title(), "Your organizations – Holt");
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
});
