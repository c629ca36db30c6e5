/** Servers that share a PostgreSQL must share the folder of blobs, too. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { createDatabase } from "../harness/postgres.ts";

test("a second server with another folder is refused, and one with the same folder is not", async () => {
  const HOLT_DATABASE_URL = await createDatabase();
  const folder = await mkdtemp(join(tmpdir(), "holt-blobs-"));
  try {
    await using first = await startServer({ env: { HOLT_DATABASE_URL } });
    const refused = startServer({ env: { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder } });
    await assert.rejects(refused, (error: Error) => {
      assert.match(error.message, /the images of this database are in another folder/);
      assert.ok(error.message.includes(folder));
      return true;
    });
    // Nor is the wrong folder made to look like a right one.
    assert.deepEqual(await readdir(folder), []);
    await using _second = await startServer({ env: { HOLT_DATABASE_URL, HOLT_DATA_DIR: first.dataDir } });
  } finally {
    await rm(folder, { recursive: true });
  }
});
