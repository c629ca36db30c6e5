import assert from "node:assert/strict";
import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createFolders } from "./create-folders.ts";

test("folders are created with those above them, for their owner only, and existing ones are left as they are", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holt-folders-"));
  try {
    const deep = join(folder, "a", "b", "c");
    for (let i = 0; i < 2; i++) createFolders(deep);
    for (const each of [deep, join(folder, "a")]) assert.equal((await stat(each)).mode & 0o777, 0o700);
    await symlink(deep, join(folder, "link"));
    createFolders(join(folder, "link", "d"));
    assert.ok((await stat(join(deep, "d"))).isDirectory());
    await writeFile(join(folder, "file"), "");
    assert.throws(() => createFolders(join(folder, "file")), { code: "EEXIST" });
    assert.throws(() => createFolders(join(folder, "file", "e")), { code: "ENOTDIR" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a folder that the file system does not allow is an error", { skip: process.platform !== "linux" }, () => {
  assert.throws(() => createFolders("/proc/holt/data"), { code: "ENOENT" });
});
