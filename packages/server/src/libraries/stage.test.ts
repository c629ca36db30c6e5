import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { createFilesystemBlobs } from "../blobs/filesystem.ts";
import { createLog } from "../lib/log.ts";
import { createStaging } from "./stage.ts";

test("a staged file is read although another upload of the same bytes was refused", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-test-"));
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => rm(dataDir, { recursive: true }));
  const blobs = cleanUp.use(createFilesystemBlobs({ dataDir, log: createLog("silent") }));
  const removal = { removeUnlinked: async () => [], removeOrphan: (digest: string) => blobs.remove(digest).then(() => true) };
  const staging = createStaging({ blobs, removal });
  const stage = () => staging.stage(Readable.from([Buffer.from("bytes")]), 100);
  const staged = await stage();
  const refuseOther = async () => staging.discard(await stage(), false);
  await refuseOther();
  assert.equal(String(await buffer(await staging.read(staged))), "bytes");
  await refuseOther();
  assert.equal(String(await staging.withFile(staged, ({ path }) => readFile(path))), "bytes");
  // An error of the work itself is not a reason to repeat it.
  let calls = 0;
  const work = async () => Promise.reject(new Error(`not a package, ${++calls}`));
  await assert.rejects(staging.withFile(staged, work), { message: "not a package, 1" });
});
