/** The demonstration organization, and what the console shows of it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { freePort } from "../../server/test/harness/free-port.ts";
import { startHoltd, temporaryFolder } from "../../server/test/harness/holtd.ts";
import { launchChromium } from "../../server/test/harness/sign-in/chromium.ts";
import { type SignInWorld, startSignInWorld } from "../../server/test/harness/sign-in/sign-in-world.ts";
import { assertAccessible, buildConsole, signInByLink, visit } from "./console-world.ts";

const chromium = await launchChromium();
const skip = chromium === undefined ? "Chromium does not start on this machine" : false;
const DEMO = join(import.meta.dirname, "../../../scripts/demo/demo.js");

describe("the demonstration organization", { skip }, () => {
  const world = {} as SignInWorld;
  let demo = "";
  const fill = () => promisify(execFile)(process.execPath, [DEMO], { env: { HOLT_BASE_URL: world.baseUrl, TOKEN: world.token } });
  before(async () => {
    buildConsole();
    Object.assign(world, await startSignInWorld());
    await fill();
    const { groups } = await world.must(GroupsService.method.listGroups, { uidp: { inRoot: true }, name: "demo" });
    demo = `${world.baseUrl}/console/${groups[0]?.uid}`;
  });
  after(async () => {
    await chromium?.close();
    await world[Symbol.asyncDispose]();
  });

  test("the console shows its images, libraries, advisories and imports", async () => {
    assert.ok(chromium);
    await visit(chromium, world, async ({ page }) => {
      await signInByLink(page, world);
      await page.goto(`${demo}/repositories`);
      await page.getByRole("link", { name: "storefront" }).click();
      await page.getByRole("link", { name: "Contents of 1.0" }).click();
      await page
        .getByRole("row", { name: /nginx 1\.27\.0-r0/ })
        .first()
        .waitFor();
      await page.goto(`${demo}/libraries`);
      await page.getByRole("link", { name: "ledger-client" }).click();
      await page.getByRole("row", { name: /loses bookings/ }).waitFor();
      await page.goto(`${demo}/advisories?state=1`);
      await page.getByRole("row", { name: /curl/ }).waitFor();
      await page.getByRole("row", { name: /openssl/ }).waitFor({ state: "detached" });
      await assertAccessible(page);
    });
  });

  test("the script refuses to fill an organization that exists", async () => {
    await assert.rejects(fill(), /There is an organization demo already/);
  });
});

describe("the script of the demonstration", () => {
  test("it fills an organization of any name on the server of the settings, and says if there is no server", async () => {
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}` };
    const fill = (env: Readonly<Record<string, string>>) => promisify(execFile)(process.execPath, [DEMO, "another"], { env });
    await assert.rejects(fill(settings), /there is no Holt installation in the data folder/);
    const server = await startHoltd(settings);
    const { stdout } = await fill(settings);
    assert.match(stdout, new RegExp(`^Done\\. The organization is at ${server.baseUrl}/console/[0-9a-f]{40}$`, "m"));
    await assert.rejects(fill(settings), /There is an organization another already\. For another one, run: npm run demo -- another/);
    await server[Symbol.asyncDispose]();
    await assert.rejects(fill(settings), ({ stderr }: { stderr: string }) => {
      assert.match(stderr, /^The server at http:\/\/127\.0\.0\.1:\d+ does not answer: .*\. Start it with: npm start\n$/);
      return true;
    });
  });
});
