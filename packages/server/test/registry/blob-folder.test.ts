/** Tests that servers that share a PostgreSQL database must share the folder of blobs. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { createDatabase } from "../harness/postgres.ts";

test("a server refuses to start with another folder than its database's, and starts with the same folder", async () => {
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
    // The refused server must not mark the wrong folder as the database's.
    assert.deepEqual(await readdir(folder), []);
    await using _second = await startServer({ env: { HOLT_DATABASE_URL, HOLT_DATA_DIR: first.dataDir } });
  } finally {
    await rm(folder, { recursive: true });
  }
});
