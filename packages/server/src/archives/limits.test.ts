import assert from "node:assert/strict";
import { test } from "node:test";
import { escapesRoot } from "./entry-path.ts";
import { ArchiveError, ArchiveMeter } from "./limits.ts";

const LIMITS = { maxEntries: 2, freeBytes: 1000, maxRatio: 10, paths: { backslash: "separator" } } as const;

test("the ratio applies only above the free bytes", () => {
  const small = new ArchiveMeter(LIMITS, 1);
  small.addExpanded(1000);
  assert.throws(() => small.addExpanded(1), ArchiveError);
  const large = new ArchiveMeter(LIMITS, 200);
  large.addExpanded(2000);
  assert.throws(() => large.addExpanded(1), /expands to more than 10 times its size/);
  assert.equal(large.expandedBytes, 2001);
});

test("an archive with more entries than allowed is refused", () => {
  const meter = new ArchiveMeter(LIMITS, 1);
  meter.addEntry();
  meter.addEntry();
  assert.throws(() => meter.addEntry(), /more than 2 entries/);
});

test("a path escapes if it is absolute, has a drive letter, a parent segment or a NUL", () => {
  for (const path of ["/etc/passwd", "C:/evil", "../up", "a/../../b", "a\\..\\..\\b", "a\0b", "\\server"])
    assert.ok(escapesRoot(path, { backslash: "separator" }), path);
  for (const path of ["a", "a/b", "./a", "a..b/..c", "a\\b", ""]) assert.ok(!escapesRoot(path, { backslash: "separator" }), path);
  assert.ok(escapesRoot("a\\b", { backslash: "refused" }));
});
