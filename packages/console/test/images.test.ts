/** Screens of image repositories and images, in a real browser, against a real server. */
import assert from "node:assert/strict";
import { ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { APK, apkDatabase, layerOf } from "../../server/test/harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, LAYER, MANIFEST } from "../../server/test/harness/registry/registry-client.ts";
import { until } from "../../server/test/harness/wait.ts";
import { assertAccessible, describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("images in the console", ({ world, walk }) => {
  walk("an image repository shows its tags, its readme as text, and how to pull from it", async ({ page, screen }) => {
    const repo = await world.must(ReposService.method.createRepo, {
      parent: world.orgUid,
      repo: { name: "app", description: "<b>bold</b>" },
    });
    const content = "# Hello\n\n![tracker](https://elsewhere.test/x.png) [good](https://example.com/)\n\n```\n<script>code</script>\n```\n";
    await world.must(ReposService.method.updateRepoReadme, { repoReadme: { uid: repo.uid, content } });
    const digest = `sha256:${"a".repeat(64)}`;
    await world.must(TagsService.method.createTag, { parent: repo.uid, tag: { name: "v1", digest } });
    await signInByLink(page, world);
    await page.goto(screen("/repositories"));
    await page.getByRole("row").getByText("<b>bold</b>").waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "app", exact: true }).click();
    await page.getByRole("row").getByText(digest).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Readme" }).click();
    await page.getByRole("heading", { name: "Hello" }).waitFor();
    assert.equal(await page.locator("main img, main script").count(), 0);
    assert.deepEqual(await page.locator("[role=tabpanel] a").evaluateAll((links) => links.map((link) => link.getAttribute("href"))), [
      "https://example.com/",
    ]);
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Pull" }).click();
    await page.getByText(`docker pull ${new URL(world.baseUrl).host}/my-org/app:TAG`).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Access" }).click();
    await page.getByRole("row", { name: /owner/ }).first().waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByRole("cell", { name: /repo\.created/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Tags: 1 (v1)").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no image repositories yet").waitFor();
  });

  walk("an image shows its packages, vulnerabilities and attached artifacts, and its tag the digests before", async ({ page, screen }) => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "contents" } });
    using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    const config = await client.blob(uid, JSON.stringify({ os: "linux", architecture: "amd64" }), CONFIG);
    const layer = await client.blob(uid, await layerOf({ [APK]: apkDatabase("zlib 1.3-r0") }), LAYER);
    const image = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] };
    const { digest } = await client.manifest(uid, image, "v1");
    const subject = { mediaType: MANIFEST, digest, size: JSON.stringify(image).length };
    await client.manifest(uid, { ...image, layers: [], artifactType: "application/x-note", subject });
    const moved = await client.manifest(uid, { ...image, annotations: { moved: "yes" } }, "v1");
    await until(async () => {
      const { packages } = await world.must(ImagePackagesService.method.listImagePackages, { uid, digest });
      return packages.length > 0;
    });
    await signInByLink(page, world);
    await page.goto(screen(`/repository/${uid}`));
    await page.getByRole("link", { name: "v1", exact: true }).click();
    await page.getByRole("link", { name: moved.digest }).waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: digest }).click();
    await page.getByRole("row", { name: /zlib 1\.3-r0 apk linux\/amd64/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Vulnerabilities" }).click();
    await page.getByText("No vulnerability of this image is known").waitFor();
    await page.getByRole("tab", { name: "Signatures and SBOMs" }).click();
    await page.getByText("application/x-note", { exact: true }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Show as a list" }).click();
    await page.getByRole("row", { name: /application\/x-note unsigned/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Call" }).click();
    await page.getByText(`/holt/v1/repos/${uid}/digests/${digest}/packages`).first().waitFor();
    await world.must(ReposService.method.deleteRepo, { uid });
  });
});
