/** Tests the JSON API of Python projects, and cached pages after the URL of the server has changed. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createPythonProjects } from "../harness/libraries/python-projects.ts";
import { must } from "../harness/libraries/python-world.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

describeWithWorld("the JSON API of Python projects", (world: World) => {
  const projects = createPythonProjects(world);
  const { owner, get, library, publish } = projects;
  after(() => projects[Symbol.dispose]());

  test("the JSON API describes a project and its versions with the metadata of their files", async () => {
    const { name, path } = await library();
    const headers = [
      "Summary: Shows things",
      "Requires-Python: >=3.8",
      "Author: Somebody",
      "Classifier: A",
      "Classifier: B",
      "Requires-Dist: other>=1",
      "Project-URL: Source, https://code.example.com/demo",
      "Description-Content-Type: text/markdown",
    ];
    const old = await sdist({ headers, description: "not stored" });
    const built = wheel({ version: "2.0", headers, description: "# Demo\n" });
    for (const file of [old, built, wheel({ version: "3.0rc1" })]) must(await publish(name, file));
    const answer = await get(`${path}/pypi/Demo/json`);
    must(answer);
    assert.equal(answer.headers["content-type"], "application/json");
    const page = answer.json() as {
      info: Record<string, unknown>;
      releases: Record<string, Record<string, unknown>[]>;
      urls: Record<string, unknown>[];
      vulnerabilities: unknown;
    };
    const { info } = page;
    assert.deepEqual(
      [info.name, info.version, info.summary, info.author, info.requires_python, info.description, info.description_content_type],
      ["demo", "2.0", "Shows things", "Somebody", ">=3.8", "# Demo\n", "text/markdown"],
    );
    assert.deepEqual([info.classifiers, info.requires_dist], [["A", "B"], ["other>=1"]]);
    assert.deepEqual([info.project_urls, info.yanked], [{ Source: "https://code.example.com/demo" }, false]);
    assert.deepEqual(Object.keys(page.releases), ["1.0", "2.0", "3.0rc1"]);
    assert.deepEqual(page.releases["2.0"], page.urls);
    const [file] = page.urls;
    const { upload_time, upload_time_iso_8601, ...rest } = file ?? {};
    assert.match(String(upload_time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    assert.match(String(upload_time_iso_8601), /Z$/);
    assert.deepEqual(rest, {
      comment_text: "",
      digests: { md5: rest.md5_digest, sha256: sha256Of(built.bytes) },
      downloads: -1,
      filename: built.fileName,
      has_sig: false,
      md5_digest: rest.md5_digest,
      packagetype: "bdist_wheel",
      python_version: "py3",
      requires_python: ">=3.8",
      size: built.bytes.length,
      url: `${world.baseUrl}${path}/files/${sha256Of(built.bytes)}/${built.fileName}`,
      yanked: false,
      yanked_reason: null,
    });
    assert.deepEqual(page.vulnerabilities, []);
    const version = (await get(`${path}/pypi/demo/1.0.0/json`)).json() as { info: Record<string, unknown>; releases?: unknown };
    assert.deepEqual([version.info.version, version.info.author, version.info.description], ["1.0", "Somebody", ""]);
    assert.equal(version.releases, undefined);
    assert.equal((await get(`${path}/pypi/demo/json`, { "if-none-match": answer.headers.etag ?? "" })).status, 304);
    must(await owner().send("POST", `${path}/simple/demo/2.0/yank`), 204);
    assert.equal(((await get(`${path}/pypi/demo/json`)).json() as { info: { version: string } }).info.version, "1.0");
    for (const missing of ["pypi/other/json", "pypi/demo/9.9/json", "pypi/demo/x%20y/json", "pypi/%20/json", "pypi/demo/json/"])
      must(await get(`${path}/${missing}`), 404);
    must(await owner().send("POST", `${path}/pypi/demo/json`), 405);
  });
});

describe("Python pages after the URL of the server has changed", () => {
  test("a cached page is fetched anew, because it has absolute links", async () => {
    await using folder = await temporaryFolder();
    const env = { HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createMigratedDatabase() };
    const pages = ["simple/demo/", "pypi/demo/json"].map((page) => `/libraries/python/my-org/${page}`);
    const tags: unknown[][] = [];
    for (let run = 0; run < 2; run++) {
      // Each server has a port of its own in its URL.
      await using server = await startServer({ store: "postgres", env });
      using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
      if (tags.length === 0) assert.equal((await upload(client, "my-org", wheel())).status, 200);
      const answers = await Promise.all(pages.map((page) => client.send("GET", page)));
      tags.push(answers.map(({ headers }) => headers.etag));
      const known = await Promise.all(
        pages.map((page, i) => client.send("GET", page, { headers: { "if-none-match": String(tags[0]?.[i]) } })),
      );
      assert.deepEqual(
        known.map(({ status }) => status),
        tags.length === 1 ? [304, 304] : [200, 200],
      );
    }
  });
});
