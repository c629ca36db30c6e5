/** Tests that the server gets the same options of Node however it is started. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../../../..");

/** Files that start the server or say how. The container image and the packages have the single executable. */
const STARTS = [
  "package.json",
  "packages/server/bin/holtd.js",
  "scripts/dev.js",
  "scripts/build/bin/holtd.js",
  "scripts/build-executable.js",
  "docs/operating.md",
];

test("npm start, the built program, the executable and the documents start the server with the same options of Node", async () => {
  const given = await Promise.all(
    STARTS.map(async (path) => {
      const text = await readFile(join(root, path), "utf8");
      return { path, options: new Set(text.match(/--(?:max-[a-z]+-[a-z]+-size|v8-pool-size)=\d+/g)) };
    }),
  );
  const [first] = given;
  assert.equal(first?.options.size, 1);
  for (const { path, options } of given) assert.deepEqual([...options], [...(first?.options ?? [])], path);
});
