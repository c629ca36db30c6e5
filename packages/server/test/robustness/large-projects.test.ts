/** Reads the pages of a Python project with very many files. Other requests run meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { wheel } from "../harness/libraries/python-packages.ts";
import { createPythonProjects } from "../harness/libraries/python-projects.ts";
import { JSON_TYPE, must } from "../harness/libraries/python-world.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { startMeteredClient } from "../harness/robustness/metered-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const FILES = 20_000;
const FILES_PER_STATEMENT = 500;

describeWithWorld("a Python project with 20,000 files", (world) => {
  test("its pages let other requests run", async () => {
    using projects = createPythonProjects(world);
    const { name, path } = await projects.library();
    must(await projects.publish(name, wheel()));
    await copyFile(world);
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

/** Copies the only file under other names, as if each had been published. */
async function copyFile({ store }: World): Promise<void> {
  const file = await store.reader.selectFrom("library_file").selectAll().executeTakeFirstOrThrow();
  const rows = Array.from({ length: FILES - 1 }, (_, i) => ({ ...file, path: file.path.replace("py3", `cp${i}`) }));
  for (let start = 0; start < rows.length; start += FILES_PER_STATEMENT)
    await store.transaction(async (db) => {
      await db
        .insertInto("library_file")
        .values(rows.slice(start, start + FILES_PER_STATEMENT))
        .execute();
    });
}
