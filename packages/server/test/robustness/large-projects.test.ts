/** Reads the pages of a Python project and of a Java snapshot with very many files. Other requests run meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMavenWorld } from "../harness/libraries/maven-world.ts";
import { wheel } from "../harness/libraries/python-packages.ts";
import { createPythonProjects } from "../harness/libraries/python-projects.ts";
import { JSON_TYPE, must } from "../harness/libraries/python-world.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { startMeteredClient } from "../harness/robustness/metered-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const FILES = 20_000;
const SNAPSHOT_FILES = 50_000;
const FILES_PER_STATEMENT = 500;

describeWithWorld("a Python project with 20,000 files", (world) => {
  test("its pages let other requests run", async () => {
    using projects = createPythonProjects(world);
    const { name, path } = await projects.library();
    must(await projects.publish(name, wheel()));
    await copyFile(world, FILES, (path, i) => path.replace("py3", `cp${i}`));
    await using client = startMeteredClient(world.baseUrl, world.token);
    const pages = [
      { page: "simple/demo/", accept: "text/html" },
      { page: "simple/demo/", accept: JSON_TYPE },
      { page: "pypi/demo/json", accept: "*/*" },
    ];
    for (const { page, accept } of pages) {
      const { status, text } = await assertYielding(`${page} as ${accept}`, () =>
        client.send({ method: "GET", path: `${path}/${page}`, headers: { accept } }),
      );
      assert.equal(status, 200, text);
    }
    const { files } = await projects.pageOf(path);
    assert.equal(files.length, FILES);
  });
});

describeWithWorld("a Java snapshot with 50,000 files", (world) => {
  test("its metadata lets other requests run", async () => {
    using java = createMavenWorld(world);
    const { maven, path } = await java.library();
    const folder = "com/example/lib/1.0-SNAPSHOT";
    await maven.deployFile(`${folder}/lib-1.0-20260101.000000-1.jar`, "jar");
    await copyFile(world, SNAPSHOT_FILES, (file, i) => file.replace("-1.jar", `-${i + 2}.jar`));
    await using client = startMeteredClient(world.baseUrl, world.token);
    const { status, text } = await assertYielding("the metadata", () =>
      client.send({ method: "GET", path: `${path}/${folder}/maven-metadata.xml` }),
    );
    assert.equal(status, 200, text);
    const { body } = await maven.get(`${folder}/maven-metadata.xml`);
    assert.match(
      body.toString(),
      new RegExp(`<buildNumber>${SNAPSHOT_FILES}</buildNumber>[^]*<value>1.0-20260101.000000-${SNAPSHOT_FILES}</value>`),
    );
  });
});

/** Copies the only file under other names, as if each had been published. */
async function copyFile({ store }: World, count: number, pathOf: (path: string, i: number) => string): Promise<void> {
  const file = await store.reader.selectFrom("library_file").selectAll().executeTakeFirstOrThrow();
  const rows = Array.from({ length: count - 1 }, (_, i) => ({ ...file, path: pathOf(file.path, i) }));
  for (let start = 0; start < rows.length; start += FILES_PER_STATEMENT)
    await store.transaction(async (db) => {
      await db
        .insertInto("library_file")
        .values(rows.slice(start, start + FILES_PER_STATEMENT))
        .execute();
    });
}
