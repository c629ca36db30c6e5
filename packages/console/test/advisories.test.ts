/** The screens of advisories, in a real browser against a real server. */
import assert from "node:assert/strict";
import { before } from "node:test";
import { ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Advisories, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { startFeedServer } from "../../server/test/harness/advisories/feed-server.ts";
import { until } from "../../server/test/harness/wait.ts";
import { assertAccessible, describeConsole, signInByLink } from "./console-world.ts";

await describeConsole("the console's advisories", ({ world, walk }) => {
  before(async () => {
    const { roles } = await world.must(RolesService.method.listRoles, { name: "advisories.admin" });
    const { subject } = await world.must(Auth.method.validate, {});
    const roleBinding = { identityUid: subject, roleUid: roles[0]?.uid ?? "" };
    await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding });
  });

  walk("an advisory is written, gets an event, and its approval is previewed and published", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/advisories"));
    await page.getByText("There are no advisories yet").waitFor();
    await page.getByRole("button", { name: "New advisory" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Package", exact: true }).fill("<b>openssl</b>");
    await page.getByRole("dialog").getByLabel("Package type").fill("apk");
    await page.getByLabel("Vulnerabilities").fill("CVE-2026-0001\nGHSA-aaaa-bbbb-cccc");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: /<b>openssl<\/b>/ }).waitFor();
    await page.getByText("Detected").waitFor();
    await assertAccessible(page);

    await page.getByRole("button", { name: "Add an event" }).click();
    await page.getByLabel("Fixed version").fill("3.5.0-r1");
    await page.getByLabel("Note").fill("‮upgrade‬ <script>alert(1)</script>");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("Fixed in 3.5.0-r1").waitFor();
    await page.getByText("<script>alert(1)</script>").waitFor();
    await page.getByRole("button", { name: "Approve" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Nothing in this format.").first().waitFor();
    await dialog.getByText('"fixed": "3.5.0-r1"').waitFor();
    await assertAccessible(page);
    await dialog.getByRole("button", { name: "Approve" }).click();
    await page.getByText("approved", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Published" }).click();
    await page.getByText('"fixed": "3.5.0-r1"').waitFor();
    await page.getByRole("tab", { name: "OpenVEX" }).click();
    await page.getByText('"status": "fixed"').waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Component", exact: true }).fill("libssl");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("tab", { name: "Details" }).click();
    await page.getByRole("row", { name: /Component libssl/ }).waitFor();

    await page.goto(screen("/advisories"));
    await page.getByRole("row", { name: /openssl.*CVE-2026-0001.*Fixed in 3\.5\.0-r1.*1 event/ }).waitFor();
    await page.getByRole("link", { name: /HOLT-/ }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page
      .getByRole("dialog", { name: /^Delete the advisory HOLT-/ })
      .getByRole("button", { name: "Delete" })
      .click();
    await page.getByText("There are no advisories yet").waitFor();
  });

  walk("advisories are filtered, and filters are saved under a name", async ({ page, screen }) => {
    const event = { type: { case: "detection", value: { type: { case: "manual", value: {} } } } } as const;
    for (const artifactName of ["curl", "zlib"])
      await world.must(Advisories.method.create, {
        parentId: world.orgUid,
        advisory: { artifactName, artifactType: "apk", events: [{ ...event, status: ReviewStatus.APPROVED }] },
      });
    await signInByLink(page, world);
    await page.goto(screen("/advisories"));
    await page.getByRole("row", { name: /zlib/ }).waitFor();
    await page.getByLabel("Search").fill("cur");
    await page.getByRole("row", { name: /zlib/ }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "More filters" }).click();
    await assertAccessible(page);
    await page.getByLabel("Package type", { exact: true }).fill("apk,deb");
    await page.waitForURL(/type=apk/);
    await page.getByRole("row", { name: /curl/ }).waitFor();
    await page.getByRole("button", { name: "Saved filters" }).click();
    await page.getByLabel("Save the filters as").fill("only curl");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "only curl", exact: true }).waitFor();
    await page.goto(screen("/advisories"));
    await page.getByRole("row", { name: /zlib/ }).waitFor();
    await page.getByRole("button", { name: "Saved filters" }).click();
    await assertAccessible(page);
    await page.getByRole("button", { name: "only curl", exact: true }).click();
    await page.getByRole("row", { name: /zlib/ }).waitFor({ state: "detached" });
    assert.match(page.url(), /query=cur&type=apk/);
  });

  walk("a file is imported, and its problems are shown by place", async ({ page, screen }) => {
    const good = { id: "GO-2026-0001", modified: "2026-01-02T00:00:00Z" };
    const affected = [
      { package: { ecosystem: "Wolfi", name: "imported" }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }] }] },
    ];
    await signInByLink(page, world);
    await page.goto(screen("/imports"));
    await page.getByText("Nothing was imported").waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Import a file" }).click();
    await page.getByLabel("File", { exact: true }).setInputFiles({
      name: "osv.json",
      mimeType: "application/json",
      buffer: Buffer.from(
        JSON.stringify([
          { ...good, affected },
          { ...good, id: "", affected },
        ]),
      ),
    });
    await assertAccessible(page);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("heading", { name: "osv.json" }).waitFor();
    await page.getByRole("status").getByText("done").waitFor();
    await assertAccessible(page);
    await page.getByRole("tab", { name: /Problems/ }).click();
    await page
      .getByRole("row", { name: /osv\.json/ })
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page
      .getByRole("dialog", { name: /^Delete the import / })
      .getByRole("button", { name: "Delete" })
      .click();
    await page.getByText("Nothing was imported").waitFor();
  });

  walk(
    "an import whose upload fails or is closed is deleted",
    async ({ page, screen }) => {
      const file = { name: "osv.json", mimeType: "application/json", buffer: Buffer.alloc(10, "[") };
      const unfinished = async () => (await world.must(ImportsService.method.listImports, { parent: world.orgUid })).imports.length;
      await signInByLink(page, world);
      await page.goto(screen("/imports"));
      await page.route("**/WriteImport", (route) => route.fulfill({ status: 502 }));
      await page.getByRole("button", { name: "Import a file" }).click();
      await page.getByLabel("File", { exact: true }).setInputFiles(file);
      await page.getByRole("button", { name: "Import", exact: true }).click();
      await page.getByRole("alert").getByText("answered HTTP 502").waitFor();
      assert.equal(await unfinished(), 0);

      await page.unroute("**/WriteImport");
      const writing = Promise.withResolvers<void>();
      await page.route("**/WriteImport", () => writing.resolve());
      await page.getByRole("button", { name: "Import", exact: true }).click();
      await writing.promise;
      assert.equal(await unfinished(), 1);
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Discard it" }).click();
      await until(async () => (await unfinished()) === 0);
    },
    { expected: [/status of 502/] },
  );

  walk(
    "a file is imported from an address once, with its progress and its problems by line",
    async ({ page, screen }) => {
      await using feed = await startFeedServer();
      const affected = [
        { package: { ecosystem: "Wolfi", name: "fetched" }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }] }] },
      ];
      const record = JSON.stringify({ id: "GO-2026-0002", modified: "2026-01-02T00:00:00Z", affected });
      let finish = () => {};
      feed.answer("/feeds/osv.jsonl", (response) => {
        response.writeHead(200).write(`${record}\n`);
        finish = () => void response.end("{ no record\n");
      });
      await signInByLink(page, world);
      await page.goto(screen("/imports"));
      await page.getByRole("button", { name: "Import an address" }).press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Address").fill("http://8.8.8.8/feed.json");
      await page.keyboard.press("Enter");
      await dialog.getByText(/^url must be a valid https URL/).waitFor();
      assert.equal(await dialog.getByLabel("Address").getAttribute("aria-invalid"), "true");
      await dialog.getByLabel("Address").fill(`${feed.url}/feeds/osv.jsonl`);
      await assertAccessible(page);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "osv.jsonl" }).waitFor();
      await page.getByRole("status").getByText("fetching").waitFor();
      await page.getByRole("row", { name: `Bytes ${record.length + 1}` }).waitFor();
      await assertAccessible(page);
      finish();
      await page.getByRole("status").getByText("done").waitFor();
      await page.getByRole("row", { name: "Created 1" }).waitFor();
      await page.getByRole("row", { name: `Address ${feed.url}/feeds/osv.jsonl` }).waitFor();
      await page.getByRole("tab", { name: "Problems (1)" }).press("Enter");
      await page.getByRole("row", { name: /osv\.jsonl .*2/ }).waitFor();
      await page.getByRole("button", { name: "Delete" }).press("Enter");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await page.getByText("Nothing was imported").waitFor();
    },
    { expected: [/status of 400/] },
  );

  walk("a mirror is created, fetched and deleted, and the feeds have their addresses", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/mirrors"));
    await page.getByText(`/holt/v1/feeds/${world.orgUid}/osv.zip`).waitFor();
    await page.getByRole("button", { name: "New mirror" }).click();
    await page.getByLabel("Name").fill("upstream");
    await page.getByLabel("Address").fill("https://127.0.0.1:1/osv.zip");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("row", { name: /upstream/ }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Fetch now" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No feed is mirrored yet").waitFor();
  });

  walk("the resolved vulnerabilities of an image are drawn per day", async ({ page, screen }) => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "reported" } });
    await signInByLink(page, world);
    await page.goto(screen("/resolved"));
    await page.getByText("Name an image repository").waitFor();
    await page.getByLabel("Image repository").fill(uid);
    await page.getByRole("img", { name: "Bars: 0 vulnerabilities resolved in 30 days" }).waitFor();
    await page.locator("canvas").waitFor();
    await assertAccessible(page);
  });

  walk("a mirror can be fetched after a part of an hour", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/mirrors"));
    await page.getByRole("button", { name: "New mirror" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("each-66-minutes");
    await page.getByRole("textbox", { name: "Address" }).fill("https://127.0.0.1:1/osv.zip");
    await page.getByLabel("Hours between fetches").fill("1.1");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page
      .getByRole("row", { name: /each-66-minutes/ })
      .getByRole("button", { name: "Delete" })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No feed is mirrored yet").waitFor();
  });

  walk("a list shows an import to the person who has just begun it", async ({ page, screen }) => {
    await signInByLink(page, world);
    await page.goto(screen("/imports"));
    await page.getByRole("button", { name: "Import a file" }).click();
    const file = { name: "empty.json", mimeType: "application/json", buffer: Buffer.from("{}") };
    await page.getByLabel("File", { exact: true }).setInputFiles(file);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("heading", { name: "empty.json" }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "empty.json" }).waitFor();
  });
});
