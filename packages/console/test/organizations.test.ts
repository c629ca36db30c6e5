/** Two organizations of one person: what the console shows of one is never that of the other. */
import assert from "node:assert/strict";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { describeConsole, signInByLink } from "./console-world.ts";
import { countRequests, settled } from "./screen-walk.ts";

const SCREENS = ["", "groups", "repositories", "identities", "pull-tokens", "events", "imports", "advisories", "roles", "subscriptions"];

await describeConsole("two organizations in the console", ({ world, walk }) => {
  /** Everything in it has the organization's name in its own. */
  async function createOrganization(name: string): Promise<string> {
    const { uid: parent } = await world.must(GroupsService.method.createGroup, { group: { name } });
    await world.must(GroupsService.method.createGroup, { parent, group: { name: `twin-of-${name}` } });
    await world.must(ReposService.method.createRepo, { parent, repo: { name: `twin-image-of-${name}` } });
    const claimMatch = { iss: { case: "issuer", value: "https://ci.test" }, sub: { case: "subject", value: name } } as const;
    const identity = { name: `twin-robot-of-${name}`, relationship: { case: "claimMatch", value: claimMatch } } as const;
    await world.must(IdentitiesService.method.createIdentity, { parent, identity });
    const pullToken = { name: `twin-token-of-${name}`, rights: [PullToken_Right.IMAGES_PULL], ttl: { seconds: 86_400n } };
    await world.must(PullTokensService.method.createPullToken, { parent, pullToken });
    return parent;
  }

  walk("screens, the palette and the live feed show the data of the chosen organization only", async ({ page }) => {
    const uids = { north: await createOrganization("north"), south: await createOrganization("south") };
    const requests = countRequests(page);
    await signInByLink(page, world);
    const assertOnly = async (name: "north" | "south") => {
      const other = name === "north" ? "south" : "north";
      const text = (await page.locator("body").innerText()).replaceAll(/^(north|south)$/gm, "");
      assert.ok(!text.includes(other), `${page.url()} of ${name} shows: ${text}`);
      assert.ok(!text.includes(uids[other]), `${page.url()} of ${name} shows the uid of ${other}`);
    };
    await page.goto(`${world.baseUrl}/console/${uids.north}`);
    for (const [name, next] of [
      ["north", "south"],
      ["south", "north"],
      ["north", "south"],
    ] as const) {
      for (const screen of SCREENS) {
        // Within the application, which keeps its cache of answers.
        await page.evaluate(`__TSR_ROUTER__.navigate({ to: "/${uids[name]}/${screen}" })`);
        await settled(page, requests);
        await assertOnly(name);
      }
      await page.keyboard.press("Control+K");
      await page.getByRole("textbox", { name: "Find" }).fill("twin");
      for (const found of [`twin-of-${name}`, `twin-image-of-${name}`, `twin-robot-of-${name}`])
        await page.getByRole("button", { name: found, exact: true }).waitFor();
      await assertOnly(name);
      await page.keyboard.press("Escape");
      await page.getByRole("textbox", { name: "Find" }).waitFor({ state: "detached" });
      await page.getByRole("button", { name: `Organization ${name}` }).click();
      await page.getByRole("menuitem", { name: next, exact: true }).click();
      await page.getByRole("heading", { name: next, exact: true }).waitFor();
    }
    // The feed that the screen before followed has ended.
    await page.evaluate(`__TSR_ROUTER__.navigate({ to: "/${uids.north}/events" })`);
    await settled(page, requests);
    await page.evaluate(`__TSR_ROUTER__.navigate({ to: "/${uids.south}/events" })`);
    await settled(page, requests);
    const created = { north: "", south: "" };
    for (const name of ["north", "south"] as const)
      created[name] = (await world.must(ReposService.method.createRepo, { parent: uids[name], repo: { name: "late" } })).uid;
    await page.getByRole("cell", { name: created.south }).waitFor();
    await assertOnly("south");
  });
});
