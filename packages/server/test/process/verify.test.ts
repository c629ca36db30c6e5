/** Tests `holtd verify` and the refusals of `holtd backup` and `holtd restore`, as an operator meets them. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { createLog } from "../../src/lib/log.ts";
import { WOLFI } from "../harness/advisories/import-samples.ts";
import { storeNames } from "../harness/harness.ts";
import { printedToken, runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";
import { basic, createRegistryClient, digestOf, INDEX, LAYER, MANIFEST } from "../harness/registry/registry-client.ts";

/** A stopped installation with one image in `my-org/app`. @returns the digest of its layer */
async function createImage(settings: Settings): Promise<string> {
  await using server = await startHoltd(settings);
  const token = await printedToken({ ...settings, HOLT_BASE_URL: server.baseUrl });
  using client = createRegistryClient(server.baseUrl, basic("_token", token));
  const layer = await client.blob("my-org/app", "the bytes of a layer");
  const config = await client.blob("my-org/app", "{}");
  await client.manifest("my-org/app", { schemaVersion: 2, config, layers: [layer] }, "v1");
  server.kill("SIGTERM");
  await server.ended;
  return layer.digest;
}

function fileOf(data: string, digest: string): string {
  const [algorithm = "", hex = ""] = digest.split(":");
  return join(data, "blobs", algorithm, hex.slice(0, 2), hex);
}

test("verify finds damaged and lost blobs, a missing link and wrong counts, and repairs counts only", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  const settings = { HOLT_DATA_DIR: data };
  const digest = await createImage(settings);
  const clean = await runHoltd(["verify"], settings);
  assert.equal(clean.code, 0, clean.stdout + clean.stderr);
  // A server that stops at once has sealed nothing yet.
  assert.match(clean.stdout, /^Checked 2 blobs, 1 manifests, \d+ audit chains and the counts: no problems\.\n$/);

  await writeFile(fileOf(data, digest), "the bytes of a lAyer");
  const damaged = await runHoltd(["verify"], settings);
  assert.equal(damaged.code, 3);
  assert.match(damaged.stdout, new RegExp(`^the blob ${digest} is damaged`, "m"));
  assert.equal((await runHoltd(["verify", "--quick"], settings)).code, 0);

  await truncate(fileOf(data, digest), 3);
  assert.match((await runHoltd(["verify", "--quick"], settings)).stdout, new RegExp(`^the blob ${digest} has lost its 20 bytes`, "m"));
  // An append during a commit makes the file longer, and readers stop at the recorded size.
  await writeFile(fileOf(data, digest), "the bytes of a layer, and more");
  const longer = await runHoltd(["verify"], settings);
  assert.equal(longer.code, 0, longer.stdout);
  await writeFile(fileOf(data, digest), "the bytes of a layer");

  {
    using database = new DatabaseSync(join(data, "holt.db"));
    database.exec("update resource_count set below = below + 3 where kind = 'repo'");
    database.exec("delete from resource_count where kind = 'plain_tag'");
    database.exec(`insert into library_name_count values ('${"a".repeat(40)}', 'an', 2, 0, 0, 3, 3)`);
    database.prepare("delete from repo_blob where digest = ?").run(digest);
  }
  const wrong = await runHoltd(["verify"], settings);
  assert.equal(wrong.code, 3);
  assert.match(wrong.stdout, /^the count of repo below \/ is wrong by 3 \(direct: 0\)/m);
  assert.match(wrong.stdout, /^the count of plain_tag below \/ is wrong by -1/m);
  assert.match(wrong.stdout, /^1 counts of names of libraries are wrong; --repair corrects them$/m);
  assert.match(wrong.stdout, new RegExp(`refers to the blob ${digest}, which the repo has not`));
  const repaired = await runHoltd(["verify", "--repair"], settings);
  assert.equal(repaired.code, 3);
  assert.match(repaired.stdout, /: 1 problems\. \d+ counts were repaired\.\n$/);
  assert.doesNotMatch((await runHoltd(["verify"], settings)).stdout, /counts? of/);
});

test("verify accepts references that a push accepts without their content, and tags without a digest", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  const absent = (mediaType: string, content: string) => ({ mediaType, digest: digestOf(content), size: content.length });
  let needed: string;
  {
    await using server = await startHoltd(settings);
    const token = await printedToken({ ...settings, HOLT_BASE_URL: server.baseUrl });
    using client = createRegistryClient(server.baseUrl, basic("_token", token));
    const config = await client.blob("my-org/app", "{}");
    const layer = await client.blob("my-org/app", "a layer");
    needed = layer.digest;
    const foreign = { ...absent(LAYER, "a foreign layer"), urls: ["https://example.com/layer"] };
    await client.manifest("my-org/app", { schemaVersion: 2, config, layers: [layer, foreign] }, "v1");
    const manifests = [absent(MANIFEST, "a manifest"), absent(LAYER, "a cached layer")];
    await client.manifest("my-org/app", { schemaVersion: 2, mediaType: INDEX, manifests }, "v2");
    server.kill("SIGTERM");
    await server.ended;
  }
  {
    using database = new DatabaseSync(join(folder.path, "data", "holt.db"));
    database.exec("update tag set digest = '' where name = 'v2'");
  }
  const accepted = await runHoltd(["verify"], settings);
  assert.match(accepted.stdout, /^Checked 2 blobs, 2 manifests, .*: no problems\.$/m);
  {
    using database = new DatabaseSync(join(folder.path, "data", "holt.db"));
    database.prepare("delete from repo_blob where digest = ?").run(needed);
  }
  const { stdout } = await runHoltd(["verify"], settings);
  assert.match(stdout, new RegExp(`refers to the blob ${needed}, which the repo has not`));
  assert.match(stdout, /: 1 problems\.$/m);
});

test("a backup reports lost blobs, an interrupted one is continued, and old ones are pruned with their blobs", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  const target = join(folder.path, "backups");
  const settings = { HOLT_DATA_DIR: data };
  const digest = await createImage(settings);
  const first = await runHoltd(["backup", target], settings);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /2 blobs .* of which 2 of/);
  assert.match(first.stdout, /The secrets key is not in the backup/);
  const [name = ""] = await readdir(join(target, "snapshots"));

  // An interrupted backup has no snapshot.json.
  await rm(join(target, "snapshots", name, "snapshot.json"));
  const none = await runHoltd(["restore", target], { HOLT_DATA_DIR: join(folder.path, "b") });
  assert.match(none.stderr, /has no complete backup/);
  const second = await runHoltd(["backup", target], settings);
  assert.match(second.stdout, /2 blobs .* of which 0 of/);
  assert.ok(!(await readdir(join(target, "snapshots"))).includes(name));

  await rm(fileOf(data, digest));
  const third = await runHoltd(["backup", target], settings);
  assert.equal(third.code, 0, "the target still has the blob");
  await rm(fileOf(target, digest));
  const lacking = await runHoltd(["backup", "--keep", "1", target], settings);
  assert.equal(lacking.code, 3);
  assert.match(lacking.stderr, new RegExp(`the server's blob ${digest} is missing`));
  assert.match(lacking.stdout, /Removed 2 older backups and 0 blobs/);
  assert.equal((await readdir(join(target, "snapshots"))).length, 1);
});

test("commands that read a folder do not create it, and say that it is missing", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  await createImage(settings);
  const missing = join(folder.path, "missing");
  for (const args of [["restore"], ["restore", "--list"], ["restore", "--at", "latest"], ["import", "org"]]) {
    const { code, stderr } = await runHoltd([...args, missing], settings);
    assert.deepEqual([code, stderr], [1, `holtd: there is no folder ${missing}\n`], args.join(" "));
  }
  const doctor = await runHoltd(["doctor"], { ...settings, HOLT_WAL_ARCHIVE: missing });
  assert.match(doctor.stdout, new RegExp(`there is no folder ${missing}`));
  const exported = await runHoltd(["export", "nobody", missing], settings);
  assert.deepEqual([exported.code, exported.stderr], [1, 'holtd: there is no organization "nobody"\n']);
  assert.ok(!existsSync(missing));
});

test("a damaged backup, a full place and wrong command lines are refused", async () => {
  await using folder = await temporaryFolder();
  const target = join(folder.path, "backups");
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  const digest = await createImage(settings);
  assert.equal((await runHoltd(["backup", target], settings)).code, 0);
  assert.match((await runHoltd(["restore", target], settings)).stderr, /a restore needs an empty data folder/);

  const other = { HOLT_DATA_DIR: join(folder.path, "other") };
  await writeFile(fileOf(target, digest), "the bytes of a lAyer");
  const damaged = await runHoltd(["restore", target], other);
  assert.equal(damaged.code, 1);
  assert.match(damaged.stderr, new RegExp(`the blob ${digest} of the backup is damaged`));
  assert.match((await runHoltd(["backup", "--verify-all", target], settings)).stderr, /is damaged/);
  // The same restore continues, once the blob is good.
  await writeFile(fileOf(target, digest), "the bytes of a layer");
  const restored = await runHoltd(["restore", target], other);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stdout, /Before the start, put the secrets key of the old server into/);

  const [name = ""] = await readdir(join(target, "snapshots"));
  await truncate(join(target, "snapshots", name, "holt.db"), 100);
  assert.match((await runHoltd(["restore", target], { HOLT_DATA_DIR: join(folder.path, "third") })).stderr, /holt\.db .* is damaged/);
  assert.equal((await runHoltd(["backup"], settings)).code, 2);
  assert.equal((await runHoltd(["backup", "--keep", "0", target], settings)).code, 2);
  assert.match((await runHoltd(["backup", "ftp://x"], settings)).stderr, /is neither a folder nor s3:/);
  // The target is refused before the installation is opened, which has no such organization.
  assert.match((await runHoltd(["export", "nobody", "ftp://x"], settings)).stderr, /is neither a folder nor s3:/);
});

test("a public repository that is deleted leaves no wrong counts on either store", async () => {
  for (const store of storeNames) {
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_DATABASE_URL: await createDatabaseOn(store) };
    await createImage(settings);
    {
      await using server = await startHoltd(settings);
      const token = await printedToken({ ...settings, HOLT_BASE_URL: server.baseUrl });
      const call = async (method: string, path: string, body?: object) => {
        const answer = await fetch(server.baseUrl + path, {
          method,
          headers: { authorization: `Bearer ${token}` },
          ...(body && { body: JSON.stringify(body) }),
        });
        assert.equal(answer.status, 200);
        return (await answer.text()) || "{}";
      };
      const { repos } = JSON.parse(await call("GET", "/registry/v2/repos")) as { readonly repos: readonly { readonly uid: string }[] };
      const uid = repos[0]?.uid ?? "";
      await call("POST", `/holt/v1/publicContent/${uid}`, { kinds: ["KIND_IMAGES"] });
      await call("DELETE", `/registry/v2/repos/${uid}`);
    }
    const { code, stdout } = await runHoltd(["verify"], settings);
    assert.equal(code, 0, stdout);
  }
});

test("verify finds and repairs wrong counts of the kinds and people of advisories on either store", async () => {
  for (const store of storeNames) {
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_DATABASE_URL: await createDatabaseOn(store) };
    await createImage(settings);
    const file = join(folder.path, "advisory.yaml");
    await writeFile(file, WOLFI);
    assert.equal((await runHoltd(["import", "advisories", file], settings)).code, 0);
    assert.match((await runHoltd(["verify"], settings)).stdout, /: no problems\.\n$/);
    {
      const { HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL: url } = settings;
      await using database = await openDatabase({ url, dataDir, log: createLog("silent") });
      await database.transaction(async (db) => {
        await db.updateTable("advisory_count").set({ below: 7 }).where("group_uid", "=", "/").execute();
        await db.deleteFrom("advisory_people_count").where("facet", "=", "authors").where("group_uid", "=", "/").execute();
      });
    }
    const wrong = await runHoltd(["verify"], settings);
    assert.equal(wrong.code, 3);
    assert.match(wrong.stdout, /^\d+ counts of kinds and people of advisories are wrong; --repair corrects them$/m);
    assert.match((await runHoltd(["verify", "--repair"], settings)).stdout, /: no problems\. \d+ counts were repaired\.\n$/);
    assert.match((await runHoltd(["verify"], settings)).stdout, /: no problems\.\n$/);
  }
});
