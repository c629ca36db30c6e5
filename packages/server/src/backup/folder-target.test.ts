/** A backup in a folder survives a loss of power. */
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { afterEach, test } from "node:test";
import { temporaryFolder } from "../../test/harness/holtd.ts";
import { openFolderTarget } from "./folder-target.ts";

const { open, rename } = fs;
afterEach(() => {
  Object.assign(fs, { open, rename });
  syncBuiltinESMExports();
});

/** Records renamed files and synced folders, in their order. */
function record(root: string): string[] {
  const steps: string[] = [];
  fs.rename = async (from, to) => {
    await rename(from, to);
    steps.push(`rename to ${relative(root, String(to))}`);
  };
  fs.open = async (path, ...rest) => {
    const file = await open(path, ...rest);
    const { sync } = file;
    file.sync = async () => {
      await sync.call(file);
      steps.push(`sync ${relative(root, String(path)) || "."}`);
    };
    return file;
  };
  syncBuiltinESMExports();
  return steps;
}

test("a file of a backup and its new folders are durable when the write has ended", async () => {
  await using folder = await temporaryFolder();
  const root = join(folder.path, "backups");
  using target = await openFolderTarget(root, "write");
  const steps = record(root);
  await target.write("blobs/sha256/aa/first", Readable.from([Buffer.from("1")]));
  assert.deepEqual(steps.splice(0), [
    "sync blobs/sha256",
    "sync blobs",
    "sync .",
    "rename to blobs/sha256/aa/first",
    "sync blobs/sha256/aa",
  ]);
  await target.write("blobs/sha256/aa/second", Readable.from([Buffer.from("2")]));
  assert.deepEqual(steps, ["rename to blobs/sha256/aa/second", "sync blobs/sha256/aa"]);
});
