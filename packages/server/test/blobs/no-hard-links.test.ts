/** A server works on a file system without hard links. */
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";

const { link } = fs;

beforeEach(() => {
  fs.link = async (_existing, path) => {
    // A missing folder comes first, as in the kernel.
    await fs.access(dirname(String(path)));
    throw Object.assign(new Error("operation not supported"), { code: "ENOTSUP", syscall: "link" });
  };
  syncBuiltinESMExports();
});
afterEach(() => {
  fs.link = link;
  syncBuiltinESMExports();
});

test("a server starts in an empty folder without hard links, keeps blobs there, and starts again", async () => {
  await using folder = await temporaryFolder();
  const env = { HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createMigratedDatabase() };
  let digest = "";
  {
    await using server = await startServer({ env });
    using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
    ({ digest } = await client.blob("my-org/app", "a layer"));
  }
  await using server = await startServer({ env });
  using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
  assert.equal((await client.send("GET", `my-org/app/blobs/${digest}`)).body.toString(), "a layer");
  assert.deepEqual((await fs.readdir(join(folder.path, "blobs"))).sort(), ["id", "sha256", "sha512"]);
  assert.deepEqual(await fs.readdir(join(folder.path, "uploads")), []);
});
