/** A server starts only with the folder of blobs that belongs to its database. */
import assert from "node:assert/strict";
import { cp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { startServer, storeNames } from "../harness/harness.ts";
import { runHoltd, type Settings, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn, createMigratedDatabase } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";

test("a server refuses to start with another folder than its database's, and starts with the same folder", async () => {
  const HOLT_DATABASE_URL = await createMigratedDatabase();
  await using folder = await temporaryFolder();
  await using first = await startServer({ env: { HOLT_DATABASE_URL } });
  const refused = startServer({ env: { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder.path } });
  await assert.rejects(refused, (error: Error) => {
    assert.match(error.message, /the database has images|the images of this database are in another folder|is missing/);
    assert.ok(error.message.includes(folder.path));
    return true;
  });
  // The refused server must not mark the wrong folder as the database's.
  assert.deepEqual(await readdir(folder.path), []);
  await using _second = await startServer({ env: { HOLT_DATABASE_URL, HOLT_DATA_DIR: first.dataDir } });
});

for (const store of storeNames) {
  describe(`on ${store}`, () => {
    /** Settings of an installation that has a blob and is stopped. */
    async function withOneBlob(dataDir: string): Promise<{ settings: Settings; digest: string }> {
      const settings = { HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL: await createDatabaseOn(store) };
      await using server = await startServer({ env: settings });
      using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
      const { digest } = await client.blob("my-org/app", "a layer");
      return { settings, digest };
    }

    test("an empty database refuses the folder of another one, and collection deletes nothing there", async () => {
      await using folder = await temporaryFolder();
      const { settings, digest } = await withOneBlob(folder.path);
      // A lost database file, or a mistyped address.
      for (const name of await readdir(folder.path)) if (name.startsWith("holt.db")) await rm(join(folder.path, name));
      const env = { ...settings, HOLT_DATABASE_URL: await createDatabaseOn(store) };
      await assert.rejects(startServer({ env }), /blobs has images of another database, but this database has none/);
      const { code, stderr } = await runHoltd(["gc"], { ...env, HOLT_GC_GRACE: "0" });
      assert.equal(code, 1);
      assert.match(stderr, /images of another database/);
      const hex = digest.split(":")[1]!;
      assert.deepEqual(await readdir(join(folder.path, "blobs", "sha256", hex.slice(0, 2))), [hex]);
      await runHoltd(["adopt-blobs"], env);
      await using _adopted = await startServer({ env });
    });

    test("a database refuses to start without its folder, until the operator says that the content is lost", async () => {
      await using folder = await temporaryFolder();
      const { settings, digest } = await withOneBlob(folder.path);
      await rename(join(folder.path, "blobs"), join(folder.path, "elsewhere"));
      await assert.rejects(startServer({ env: settings }), /the folder .*blobs with their content is missing.*adopt-blobs/);
      const { code, stderr } = await runHoltd(["adopt-blobs"], settings);
      assert.equal(code, 0, stderr);
      await using server = await startServer({ env: settings });
      using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
      assert.equal((await client.send("HEAD", `my-org/app/blobs/${digest}`)).status, 404);
      await client.blob("my-org/app", "a layer");
      assert.equal((await client.send("HEAD", `my-org/app/blobs/${digest}`)).status, 200);
    });

    test("a database that was restored with its folder starts", async () => {
      await using folder = await temporaryFolder();
      await using copy = await temporaryFolder();
      const { settings } = await withOneBlob(folder.path);
      await cp(folder.path, copy.path, { recursive: true });
      await using _server = await startServer({ env: { ...settings, HOLT_DATA_DIR: copy.path } });
    });

    test("a folder with an id of another database and without files is refused by an empty database", async () => {
      await using folder = await temporaryFolder();
      const { settings } = await withOneBlob(folder.path);
      await using other = await temporaryFolder();
      await cp(join(folder.path, "blobs", "id"), join(other.path, "blobs", "id"));
      const env = { ...settings, HOLT_DATA_DIR: other.path, HOLT_DATABASE_URL: await createDatabaseOn(store) };
      await assert.rejects(startServer({ env }), /images of another database/);
      await writeFile(join(other.path, "blobs", "id"), "");
      await assert.rejects(startServer({ env }), /images of another database/);
      await rm(join(other.path, "blobs"), { recursive: true });
      await using _server = await startServer({ env });
    });
  });
}
