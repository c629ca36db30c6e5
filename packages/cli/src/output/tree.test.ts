import assert from "node:assert/strict";
import { test } from "node:test";
import { tree } from "./tree.ts";

test("a tree of 10,000 groups has a line for each, in the order of their names below their parents", () => {
  const rows = [{ uid: "a", name: "org" }];
  for (let team = 0; team < 100; team++) {
    rows.push({ uid: `a/${team}`, name: `team-${String(team).padStart(3, "0")}` });
    for (let folder = 0; folder < 99; folder++)
      rows.push({ uid: `a/${team}/${folder}`, name: `folder-${String(folder).padStart(3, "0")}` });
  }
  const lines = tree(rows, ({ name }) => String(name)).split("\n");
  assert.equal(lines.length, 10_001 + 1);
  assert.deepEqual(lines.slice(0, 3), ["org", "├── team-000", "│   ├── folder-000"]);
  assert.deepEqual(lines.slice(-3), ["    ├── folder-097", "    └── folder-098", ""]);
});

test("a resource whose parent is not among the rows is a root", () => {
  assert.equal(
    tree(
      [
        { uid: "a/b/c", name: "deep" },
        { uid: "x", name: "other" },
      ],
      ({ name }) => String(name),
    ),
    "deep\nother\n",
  );
});
