import assert from "node:assert/strict";
import { test } from "node:test";
import { differencesOf } from "./compare-packages.ts";

const packaged = (name: string, version: string, platform = "linux/amd64") => ({ type: "apk", name, version, platform });

test("packages that were added, removed and changed are told apart by platform, in the order of names", () => {
  const before = [packaged("same", "1"), packaged("old", "1"), packaged("zlib", "1"), packaged("zlib", "1", "linux/arm64")];
  const after = [packaged("same", "1"), packaged("new", "2"), packaged("zlib", "2"), packaged("zlib", "1", "linux/arm64")];
  assert.deepEqual(
    differencesOf(before, after).map(({ name, platform, before, after }) => [name, platform, before, after]),
    [
      ["new", "linux/amd64", [], ["2"]],
      ["old", "linux/amd64", ["1"], []],
      ["zlib", "linux/amd64", ["1"], ["2"]],
    ],
  );
});

test("a package with several versions differs only if the set of versions does", () => {
  const several = [packaged("lib", "2"), packaged("lib", "1"), packaged("lib", "1")];
  assert.deepEqual(differencesOf(several, [packaged("lib", "1"), packaged("lib", "2")]), []);
  assert.deepEqual(differencesOf(several, [packaged("lib", "2")])[0]?.before, ["1", "2"]);
});
