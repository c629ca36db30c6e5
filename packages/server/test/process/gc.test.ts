/** Tests `holtd gc` as an operator runs it, and the collections that a server starts itself. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runHoltd, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";

/** Creates a blob that no repo links to, as an interrupted push does. */
async function leaveOrphan(data: string, content: string): Promise<string> {
  const hex = createHash("sha256").update(content).digest("hex");
  const folder = join(data, "blobs", "sha256", hex.slice(0, 2));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, hex), content);
  return hex;
}

/** Names of the files of blobs. The folder also has its own id. */
const filesIn = async (data: string) =>
  (await readdir(join(data, "blobs"), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== "id")
    .map(({ name }) => name);

test("gc prints what it would remove, and then removes it while a server runs", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_GC_GRACE: "0", HOLT_GC_INTERVAL: "0" };
  await using _server = await startHoltd(settings);
  const hex = await leaveOrphan(settings.HOLT_DATA_DIR, "left over");
  const kept = await runHoltd(["gc"], { ...settings, HOLT_GC_GRACE: "1h" });
  assert.match(kept.stdout, /^Removed 0 manifests, .* 0 blobs of 0 bytes/);
  const preview = await runHoltd(["gc", "--dry-run"], settings);
  assert.deepEqual(preview.stdout.split("\n").slice(0, 1), [`blob sha256:${hex} 9`], preview.stderr);
  assert.match(preview.stdout, /\nWould remove 0 manifests, 0 links to blobs, 1 blobs of 9 bytes, 0 interrupted uploads\.\n$/);
  assert.deepEqual(await filesIn(settings.HOLT_DATA_DIR), [hex]);
  const mistyped = await runHoltd(["gc", "--dryrun"], settings);
  assert.equal(mistyped.code, 2);
  assert.deepEqual(await filesIn(settings.HOLT_DATA_DIR), [hex]);
  const run = await runHoltd(["gc"], settings);
  assert.equal(run.code, 0);
  assert.equal(run.stdout, preview.stdout.replace("Would remove", "Removed"));
  assert.deepEqual(await filesIn(settings.HOLT_DATA_DIR), []);
});

test("a running server collects garbage repeatedly", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_GC_GRACE: "0", HOLT_GC_INTERVAL: "1s" };
  await using _server = await startHoltd(settings);
  for (const content of ["first", "second"]) {
    await leaveOrphan(settings.HOLT_DATA_DIR, content);
    await until(async () => (await filesIn(settings.HOLT_DATA_DIR)).length === 0);
  }
});

test("an invalid duration is refused with a list of valid forms", async () => {
  for (const [name, value] of [
    ["HOLT_GC_GRACE", "soon"],
    ["HOLT_GC_GRACE", ""],
    ["HOLT_GC_GRACE", "1d"],
    ["HOLT_GC_INTERVAL", "1000h"],
    ["HOLT_GC_INTERVAL", "-1s"],
  ] as const) {
    const { code, stderr } = await runHoltd(["gc"], { [name]: value });
    assert.equal(code, 2, value);
    assert.match(stderr, new RegExp(`${name}: "${value}" must be 0, or a duration from`));
  }
});
