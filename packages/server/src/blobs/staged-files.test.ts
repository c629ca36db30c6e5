import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createLog } from "../lib/log.ts";
import { createStagedFiles, type StagedFiles } from "./staged-files.ts";

let dataDir: string;
let files: StagedFiles;
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "holt-staged-"));
  files = createStagedFiles({ dataDir, log: createLog("silent") });
});
after(() => rm(dataDir, { recursive: true, force: true }));

const textOf = (name: string) => files.withFile(name, 0, (path) => readFile(path, "utf8"));

test("a late or repeated chunk does not overwrite later ones", async () => {
  await files.write("a", 0, Buffer.from("first "));
  await files.write("a", 6, Buffer.from("second"));
  await files.write("a", 0, Buffer.from("first "));
  assert.equal(await textOf("a"), "first second");
});

test("two concurrent writers of the first chunk leave it complete", async () => {
  const piece = Buffer.alloc(1_000_000, "x");
  await Promise.all([files.write("b", 0, piece), files.write("b", 0, piece)]);
  assert.equal(await textOf("b"), piece.toString());
});

test("bytes beyond a size are truncated, and missing bytes are an error", async () => {
  await files.write("c", 0, Buffer.from("acknowledged, and not"));
  assert.equal(await files.cut("c", 12), true);
  assert.equal(await textOf("c"), "acknowledged");
  assert.equal(await files.cut("c", 13), false);
  assert.equal(await files.cut("missing", 0), false);
});

test("a file can be created once, written, listed and removed", async () => {
  {
    await using writer = await files.create("d-1");
    await writer.append(Buffer.from("one "));
    await writer.append(Buffer.from("two"));
    await writer.sync();
  }
  assert.equal(await textOf("d-1"), "one two");
  await assert.rejects(files.create("d-1"));
  const names: string[] = [];
  for await (const batch of files.list()) names.push(...batch);
  assert.ok(names.includes("d-1"));
  await files.remove("d-1");
  await files.remove("d-1");
  await assert.rejects(textOf("d-1"));
  for (const name of ["../x", "", "A", "a/b"]) await assert.rejects(textOf(name));
});
