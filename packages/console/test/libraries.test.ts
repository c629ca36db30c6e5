/** The screens of libraries, in a real browser against a real server. */
import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { pomOf } from "../../server/test/harness/libraries/maven-client.ts";
import { sha256Of, wheel } from "../../server/test/harness/libraries/python-packages.ts";
import { assertAccessible, describeConsole, endSession, linkOf, signInByLink } from "./console-world.ts";

await describeConsole("the console's libraries", ({ world, walk }) => {
  const wheelFile = (name: string) => {
    const { fileName, bytes } = wheel({ name, version: "1.0" });
    return { name: fileName, mimeType: "application/zip", buffer: bytes };
  };

  async function openUpload(page: Page, address: string): Promise<Locator> {
    await signInByLink(page, world);
    await page.goto(address);
    await page.getByRole("button", { name: "Upload" }).click();
    return page.getByLabel("Files", { exact: true });
  }

  walk("Python files are uploaded, shown with their hashes, yanked and deleted", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/libraries"));
    await page.getByText("There are no Python libraries yet").waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Setup" }).click();
    await page.getByText("poetry source add").waitFor();
    await page.getByText(`${world.baseUrl}/libraries/python/my-org/`).first().waitFor();
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });

    const file = wheel({ name: "demo", version: "1.0" });
    await page.getByRole("button", { name: "Upload" }).click();
    await page.getByLabel("Files", { exact: true }).setInputFiles({ name: file.fileName, mimeType: "application/zip", buffer: file.bytes });
    await page.getByRole("dialog").getByText(file.fileName).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });

    await page.getByRole("link", { name: "demo", exact: true }).click();
    await page.getByRole("row", { name: /^1\.0/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Yank" }).click();
    await page.getByLabel("Reason").fill("<b>loses data</b>");
    await page.getByRole("dialog").getByRole("button", { name: "Yank" }).click();
    await page.getByRole("row", { name: /<b>loses data<\/b>/ }).waitFor();
    await page.getByRole("link", { name: "1.0", exact: true }).click();
    await page.getByText(sha256Of(file.bytes)).waitFor();
    await page.getByRole("row", { name: /<b>loses data<\/b>/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByRole("button", { name: "Undo yank" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo yank" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Yank", exact: true }).waitFor();
    await page.getByRole("tab", { name: "Setup" }).click();
    await page.getByText(/pip install --index-url .*demo/).waitFor();
    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no Python libraries yet").waitFor();
  });

  walk("a dropped POM says where Java files are published", async ({ page, screen }) => {
    const coordinates = { groupId: "com.example", artifactId: "lib", version: "1.0" };
    await signInByLink(page, world);
    await page.goto(screen("/libraries?ecosystem=java"));
    await page.getByRole("button", { name: "Upload" }).click();
    const files = [
      { name: "pom.xml", mimeType: "text/xml", buffer: Buffer.from(pomOf(coordinates)) },
      { name: "lib-1.0.jar", mimeType: "application/java-archive", buffer: Buffer.from("jar") },
    ];
    await page.getByLabel("Files", { exact: true }).setInputFiles(files);
    await page.waitForFunction('document.querySelector("[role=dialog] input[value=lib]") !== null');
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "com.example:lib" }).click();
    await page.getByRole("tab", { name: "Files" }).click();
    await page.getByRole("row", { name: /1\.0\/lib-1\.0\.jar/ }).waitFor();
    await page.getByRole("row", { name: /1\.0\/lib-1\.0\.pom/ }).waitFor();
    await page.getByRole("tab", { name: "Setup" }).click();
    await page.getByText('implementation("com.example:lib:1.0")').waitFor();
    await page.getByText("isAllowInsecureProtocol = true").waitFor();
    await page.getByText("-DaltDeploymentRepository=holt::default::http").waitFor();
    await assertAccessible(page);
  });

  walk(
    "a refused upload keeps the files and shows the reason",
    async ({ page, screen }) => {
      await signInByLink(page, world);
      await page.goto(screen("/libraries"));
      await page.getByRole("button", { name: "Upload" }).click();
      await page
        .getByLabel("Files", { exact: true })
        .setInputFiles({ name: "broken-1.0-py3-none-any.whl", mimeType: "application/zip", buffer: Buffer.from("no zip") });
      await page.getByRole("button", { name: "Publish" }).click();
      assert.match(await page.getByRole("alert").innerText(), /zip[\s\S]*INVALID_ARGUMENT/);
      await page.getByRole("listitem").getByText("broken-1.0-py3-none-any.whl").waitFor();
    },
    { expected: [/status of 400/] },
  );

  walk(
    "a refused file is removed from an upload, and the files after it are published",
    async ({ page, screen }) => {
      const files = await openUpload(page, screen("/libraries"));
      const broken = { name: "broken-1.0-py3-none-any.whl", mimeType: "application/zip", buffer: Buffer.from("no zip") };
      await files.setInputFiles([broken, wheelFile("behind")]);
      await page.getByRole("button", { name: "Publish" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByRole("button", { name: `Remove ${broken.name}` }).click();
      await page.getByRole("button", { name: "Publish" }).click();
      await page.getByRole("link", { name: "behind", exact: true }).waitFor();
    },
    { expected: [/status of 400/] },
  );

  walk("a file that is chosen twice is published once, and one that was removed can be chosen again", async ({ page, screen }) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "holt-console-"));
    const file = wheelFile("twice");
    const path = join(folder.path, file.name);
    await writeFile(path, file.buffer);
    const files = await openUpload(page, screen("/libraries"));
    await files.setInputFiles(path);
    const remove = page.getByRole("button", { name: `Remove ${file.name}` });
    await remove.waitFor();
    // The browser reports a change only if the field has forgotten the file.
    assert.equal(await files.inputValue(), "");
    await files.setInputFiles([]);
    await files.setInputFiles(path);
    await page.getByRole("button", { name: "Choose files" }).focus();
    assert.equal(await remove.count(), 1);
    await remove.click();
    await remove.waitFor({ state: "detached" });
    await files.setInputFiles([]);
    await files.setInputFiles(path);
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByRole("link", { name: "twice", exact: true }).waitFor();
  });

  walk("a POM without a version keeps the version that is typed", async ({ page, screen }) => {
    const files = await openUpload(page, screen("/libraries?ecosystem=java"));
    await page.getByLabel("version").fill("2.0");
    const pom = "<project><groupId>com.example</groupId><artifactId>typed</artifactId></project>";
    await files.setInputFiles({ name: "pom.xml", mimeType: "text/xml", buffer: Buffer.from(pom) });
    await page.waitForFunction('document.querySelector("[role=dialog] input[value=typed]") !== null');
    assert.equal(await page.getByLabel("version").inputValue(), "2.0");
  });

  walk(
    "an upload waits until the person has signed in again when the session has ended",
    async ({ page, screen }) => {
      const files = await openUpload(page, screen("/libraries"));
      await files.setInputFiles(wheelFile("waits"));
      await endSession(page, world);
      await page.getByRole("button", { name: "Publish", exact: true }).click();
      await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
      const other = await page.context().newPage();
      await other.goto(await linkOf(world));
      await other.getByRole("heading", { name: "Your organizations" }).waitFor();
      await page.getByRole("link", { name: "waits", exact: true }).waitFor();
    },
    { expected: [/status of 401/] },
  );
});
