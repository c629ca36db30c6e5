/** Home, the command palette, the live feed, redelivery, and the difference of images, in a real browser against a real server. */
import assert from "node:assert/strict";
import { ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { APK, apkDatabase, layerOf } from "../../server/test/harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, LAYER, MANIFEST } from "../../server/test/harness/registry/registry-client.ts";
import { until } from "../../server/test/harness/wait.ts";
import { assertAccessible, createMachine, describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("the console's overview", ({ world, walk }) => {
  walk("Home shows what needs attention and new events as they happen", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/"));
    await page.getByText("Nothing fails, and nothing expires soon.").waitFor();
    await page.getByText(/^0 B$/).waitFor();
    const pullToken = { name: "edge", rights: [PullToken_Right.IMAGES_PULL], ttl: { seconds: 86_400n } };
    await world.must(PullTokensService.method.createPullToken, { parent: world.orgUid, pullToken });
    await page.getByRole("cell", { name: /pull_token\.created/ }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "Pull token edge" }).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "Pull token edge" }).click();
    await page.getByRole("row", { name: /edge/ }).waitFor();
  });

  walk("the manual is served with its pictures and links to the API browser", async ({ page }) => {
    await page.goto(`${world.baseUrl}/docs/manual`);
    await page.getByRole("heading", { name: "The web console" }).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.getByRole("heading", { name: "Events", exact: true }).waitFor();
    await page.getByRole("link", { name: "API", exact: true }).click();
    await page.getByRole("link", { name: "Manual" }).waitFor();
  });

  walk("the live feed shows events of the chosen types only", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "watched" } });
    await world.must(ReposService.method.createRepo, { parent: uid, repo: { name: "seen" } });
    await signInByLink(page, world);
    await page.goto(screen("/events"));
    await page
      .getByRole("cell", { name: /group\.created/ })
      .first()
      .waitFor();
    await page.getByLabel("Types").fill("api.platform.registry.*");
    await page
      .getByRole("cell", { name: /group\.created/ })
      .first()
      .waitFor({ state: "detached" });
    await page
      .getByRole("cell", { name: /repo\.created/ })
      .first()
      .waitFor();
    assert.match(page.url(), /types=/);
    await assertAccessible(page);
  });

  walk("a delivery shows its request, and why there is no response", async ({ page, screen }) => {
    const subscription = { sink: "https://127.0.0.1:9/shown" };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: world.orgUid, subscription });
    await signInByLink(page, world);
    await page.goto(screen(`/subscription/${uid}`));
    await page.getByRole("button", { name: /subscription\.created/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^POST https:\/\/127\.0\.0\.1:9\/shown/).waitFor();
    await dialog.getByText(/Authorization: Bearer \[removed\]/).waitFor();
    assert.match(page.url(), /delivery=/);
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  walk("events that were given up since a time are sent again", async ({ page, screen }) => {
    const subscription = { sink: "https://127.0.0.1:9/hook" };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: world.orgUid, subscription });
    await signInByLink(page, world);
    await page.goto(screen(`/subscription/${uid}`));
    await page.getByRole("button", { name: "Send failed again" }).click();
    await page.getByLabel("Events since (UTC)").fill("2026-01-01T00:00");
    await assertAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("0 will be sent again").waitFor();
  });

  walk("the history of a tag begins with its newest move, however many there are", async ({ page, screen }) => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "moved" } });
    const digestAt = (move: number) => `sha256:${String(move).padStart(64, "0")}`;
    const { uid: tag } = await world.must(TagsService.method.createTag, { parent: uid, tag: { name: "busy", digest: digestAt(0) } });
    const rows = Array.from({ length: 1500 }, (_, i) => {
      const time = new Date(world.clock.now().getTime() + i + 1).toISOString();
      return { repo_uid: uid, tag: "busy", digest: digestAt(i + 1), time, actor: "" };
    });
    await world.store.transaction((db) => db.insertInto("tag_history").values(rows).execute());
    await signInByLink(page, world);
    await page.goto(screen(`/tag/${tag}`));
    await page.getByText(digestAt(1500)).waitFor();
    const links = await page.getByRole("link", { name: /^sha256:/ }).allTextContents();
    assert.deepEqual([links.length, links[0]], [1000, digestAt(1500)]);
  });

  walk("the history of a tag leads to the packages that changed", async ({ page, screen }) => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "compared" } });
    using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    for (const packages of [
      ["zlib 1.2-r0", "old 1-r0"],
      ["zlib 1.3-r0", "new 2-r0"],
    ]) {
      const config = await client.blob(uid, JSON.stringify({ os: "linux", architecture: "amd64", author: packages[0] }), CONFIG);
      const layer = await client.blob(uid, await layerOf({ [APK]: apkDatabase(...packages) }), LAYER);
      const { digest } = await client.manifest(uid, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] }, "v1");
      await until(async () => (await world.must(ImagePackagesService.method.listImagePackages, { uid, digest })).packages.length === 2);
    }
    await signInByLink(page, world);
    await page.goto(screen(`/repository/${uid}`));
    await page.getByRole("link", { name: "v1", exact: true }).click();
    await page.getByRole("link", { name: "What changed" }).click();
    await page.getByText("3 differences").waitFor();
    await page.getByRole("row", { name: /^new .*added/ }).waitFor();
    await page.getByRole("row", { name: /^old .*removed/ }).waitFor();
    await page.getByRole("row", { name: /^zlib .*changed 1\.2-r0 1\.3-r0/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Layers" }).click();
    await page.getByRole("heading", { name: "linux/amd64" }).waitFor();
    await page.getByRole("row", { name: /^1 .* sha256:/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Pull" }).click();
    await page.getByText(/^docker pull .*\/my-org\/compared@sha256:/).waitFor();
    await page.getByRole("tab", { name: "Call" }).click();
    await page.getByText(/^holt api GET \/holt\/v1\/repos\//).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Tags: 1 (v1)").waitFor();
    await page.getByText("Images, indexes and artifacts: 1").waitFor();
    await assertAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "compared" }).waitFor();
    await page.getByText("There are no tags in here.").waitFor();
  });

  walk("artifacts that are attached to an image are a tree, and a tag is deleted with a preview", async ({ page, screen }) => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "attached" } });
    using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    const image = await client.image(uid, "v1");
    const attach = async (subject: object, artifactType: string) => {
      const config = await client.blob(uid, "{}", CONFIG);
      return client.manifest(uid, { schemaVersion: 2, mediaType: MANIFEST, artifactType, config, layers: [], subject });
    };
    const sbom = await attach(image, "application/x.sbom");
    await attach(sbom, "application/x.signature");
    await signInByLink(page, world);
    await page.goto(screen(`/image/${uid}/${image.digest}?tab=referrers`));
    await page.getByText("application/x.sbom").waitFor();
    await page.getByRole("button", { name: `What is attached to ${sbom.digest.slice(0, 19)}` }).press("Enter");
    await page.getByText("application/x.signature").waitFor();
    await assertAccessible(page);
    await page.goto(screen(`/repository/${uid}`));
    await page.getByRole("link", { name: "v1", exact: true }).click();
    // The screen of the repository, which stays until the tag's is loaded, has such a button, too.
    await page.getByRole("heading", { name: "v1", exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Signatures, attestations and SBOMs: 2 (application/x.sbom, application/x.signature)").waitFor();
    await assertAccessible(page);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no tags in here.").waitFor();
  });

  walk("the command palette finds objects by a part of their name and opens them by keyboard", async ({ page, screen }) => {
    const { uid } = await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "team-palette" } });
    const repo = await world.must(ReposService.method.createRepo, { parent: uid, repo: { name: "palette-server" } });
    const digest = `sha256:${"b".repeat(64)}`;
    await world.must(TagsService.method.createTag, { parent: repo.uid, tag: { name: "palette-1", digest } });
    await createMachine(world, "palette-robot");
    const find = page.getByRole("textbox", { name: "Find" });
    await signInByLink(page, world);
    await page.goto(screen("/"));
    await page.getByRole("heading", { name: "my-org" }).waitFor();
    await page.getByRole("button", { name: "Find", exact: true }).click();
    await find.fill("palette");
    for (const name of ["team-palette", "palette-robot", "palette-server", "palette-1 palette-server"])
      await page.getByRole("button", { name, exact: true }).waitFor();
    await assertAccessible(page);
    await find.fill("e-server");
    await page.getByRole("button", { name: "team-palette", exact: true }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "palette-server", exact: true }).waitFor();
    // Enter opens the first entry.
    await find.press("Enter");
    await page.getByRole("heading", { name: "palette-server" }).waitFor();
    await page.keyboard.press("Control+K");
    await find.fill("zzzz-none");
    await page.getByText("Nothing has this in its name").waitFor();
    await find.fill("pull tok");
    await page.getByRole("button", { name: /Pull tokens/ }).waitFor();
    await find.press("ArrowDown");
    await page.locator("[data-selected]", { hasText: "Pull tokens" }).waitFor();
    await find.press("Enter");
    await page.getByRole("heading", { name: "Pull tokens" }).waitFor();
  });
});
