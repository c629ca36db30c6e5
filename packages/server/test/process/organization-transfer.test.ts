/** Tests `holtd export` and `holtd import org` as an operator meets them: interrupted, repeated and refused. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import pg from "pg";
import { digestOf } from "../../src/blobs/digest.ts";
import { sha256Hex } from "../../src/lib/sha256.ts";
import { type ExportedOrganization, MANIFEST } from "../../src/transfer/export-format.ts";
import { storeNames } from "../harness/harness.ts";
import { createInstallation, printedToken, runHoltd, type Settings, startHoltd, startProcess, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { type Exported, type Row, rowsIn } from "../harness/transfer/exported-rows.ts";
import { until, within } from "../harness/wait.ts";

const LAYERS = 12;

/** A stopped server with an image in the repo `app`. @returns the digest of its first layer */
async function createImage(settings: Settings, content = "the bytes", organization = "my-org"): Promise<string> {
  await using server = await startHoltd(settings);
  const token = await printedToken({ ...settings, HOLT_BASE_URL: server.baseUrl });
  using client = createRegistryClient(server.baseUrl, basic("_token", token));
  const layers = [];
  const repo = `${organization}/app`;
  for (let i = 0; i < LAYERS; i++) layers.push(await client.blob(repo, `${content} of layer ${i}`));
  const config = await client.blob(repo, "{}");
  await client.manifest(repo, { schemaVersion: 2, config, layers }, "v1");
  server.kill("SIGTERM");
  await server.ended;
  return layers[0]?.digest ?? "";
}

function blobIn(folder: string, digest: string): string {
  const [algorithm = "", hex = ""] = digest.split(":");
  return join(folder, "blobs", algorithm, hex.slice(0, 2), hex);
}

/** Kills the command while it reads the blob, for which it has to wait. The blob is as before afterwards. */
async function killAtBlob(path: string, args: readonly string[], settings: Settings): Promise<void> {
  await rename(path, `${path}.away`);
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  {
    await using command = startProcess(args, settings);
    await until(() => command.stderr().includes("copying blobs"));
    command.kill("SIGKILL");
    assert.equal((await within(command.ended, () => command.stderr())).signal, "SIGKILL");
  }
  await rm(path);
  await rename(`${path}.away`, path);
}

for (const store of storeNames) {
  test(`an export and an import on ${store} that were killed are continued, and nothing is there before the end`, async () => {
    await using folder = await temporaryFolder();
    const place = async (name: string): Promise<Settings> => ({
      HOLT_DATA_DIR: join(folder.path, name),
      HOLT_DATABASE_URL: await createDatabaseOn(store),
      HOLT_LOG_LEVEL: "error",
    });
    const [from, to] = [await place("from"), await place("to")];
    const digest = await createImage(from);
    await createInstallation({ ...to, HOLT_ORG_NAME: "other-org" });
    const exported = join(folder.path, "export");

    await killAtBlob(blobIn(join(folder.path, "from"), digest), ["export", "my-org", exported], from);
    assert.ok(existsSync(join(exported, "unfinished.json")) && !existsSync(join(exported, "organization.json")));
    assert.match((await runHoltd(["import", "org", exported], to)).stderr, /has no complete export of an organization/);
    const first = await runHoltd(["export", "my-org", exported], from);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, new RegExp(`^Exported my-org .* and ${LAYERS + 1} blobs`));
    assert.ok(!existsSync(join(exported, "unfinished.json")));

    await killAtBlob(blobIn(exported, digest), ["import", "org", exported], to);
    assert.match((await runHoltd(["export", "my-org", join(folder.path, "none")], to)).stderr, /there is no organization "my-org"/);
    if (store === "postgres") await killAtRows(exported, to);
    const imported = await runHoltd(["import", "org", exported], to);
    assert.equal(imported.code, 0, imported.stderr + imported.stdout);
    assert.match(imported.stdout, new RegExp(`^Imported my-org .* and ${LAYERS + 1} blobs`));
    const verified = await runHoltd(["verify"], to);
    assert.deepEqual(
      [verified.code, verified.stdout],
      [0, `Checked ${LAYERS + 1} blobs, 1 manifests, 2 audit chains and the counts: no problems.\n`],
    );
  });
}

/** Kills an import while it waits for its first row, which nobody sees then. */
async function killAtRows(exported: string, settings: Settings): Promise<void> {
  const client = new pg.Client({ connectionString: settings.HOLT_DATABASE_URL });
  await client.connect();
  try {
    await client.query('begin; lock table "role_binding" in exclusive mode');
    await using command = startProcess(["import", "org", exported], settings);
    await until(() => command.stderr().includes("copying rows"));
    command.kill("SIGKILL");
    await command.ended;
    const { rows } = await client.query(`select name from "group" where name = 'my-org'`);
    assert.deepEqual(rows, []);
  } finally {
    await client.end();
  }
}

test("imports and exports that would mix organizations, lack parts or meet a running server are refused", async () => {
  await using folder = await temporaryFolder();
  const from = { HOLT_DATA_DIR: join(folder.path, "from"), HOLT_LOG_LEVEL: "error" };
  const to = { HOLT_DATA_DIR: join(folder.path, "to"), HOLT_LOG_LEVEL: "error" };
  await createImage(from);
  const exported = join(folder.path, "export");
  assert.equal((await runHoltd(["export", "my-org", exported], from)).code, 0);
  const refusal = async (args: readonly string[], settings: Settings) => {
    const { code, stderr } = await runHoltd(args, settings);
    assert.equal(code, 1, stderr);
    return stderr;
  };
  const refuseImport = () => refusal(["import", "org", exported], to);

  assert.match(await refuseImport(), /there is no Holt installation/);
  assert.deepEqual(await readdir(folder.path), ["export", "from"]);
  {
    await using server = await startHoltd({ ...to, HOLT_ORG_NAME: "other-org" });
    assert.match(await refuseImport(), /another holtd serves the data in .*; stop it first/);
    server.kill("SIGTERM");
    await server.ended;
  }
  const path = join(exported, "organization.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as { schema: number; tables: { name: string; files: { path: string }[] }[] };
  await writeFile(path, JSON.stringify({ ...manifest, schema: manifest.schema - 1 }));
  assert.match(await refuseImport(), /this server has schema \d+: upgrade the other server, and export again/);
  await writeFile(path, JSON.stringify({ ...manifest, format: 2 }));
  assert.match(await refuseImport(), /has format 2; this program reads format 1/);
  await writeFile(path, JSON.stringify(manifest));
  const rows = join(exported, manifest.tables.find(({ name }) => name === "repo")?.files[0]?.path ?? "");
  const whole = await readFile(rows);
  await writeFile(rows, whole.subarray(1));
  assert.match(await refuseImport(), /the file rows\/repo\/000001\.jsonl\.zst of the export is damaged/);
  await writeFile(rows, whole);
  const second = await runHoltd(["import", "org", exported], to);
  assert.equal(second.code, 0, second.stderr);
  assert.match(await refuseImport(), /has the organization my-org \([0-9a-f]+\) already/);

  assert.match(await refusal(["export", "other-org", exported], to), /has an export of the organization [0-9a-f]+; name another folder/);
  assert.equal((await runHoltd(["export", "my-org"], from)).code, 2);
  assert.equal((await runHoltd(["import", "org"], to)).code, 2);
});

for (const store of storeNames) {
  test(`an import on ${store} refuses an export with rows of other organizations, and imports nothing`, async () => {
    await using folder = await temporaryFolder();
    const from = { HOLT_DATA_DIR: join(folder.path, "from"), HOLT_LOG_LEVEL: "error" };
    const to = {
      ...{ HOLT_DATA_DIR: join(folder.path, "to"), HOLT_ORG_NAME: "other-org", HOLT_LOG_LEVEL: "error" },
      HOLT_DATABASE_URL: await createDatabaseOn(store),
    };
    await createImage(from);
    await createInstallation(to);
    const [exported, ofOther, forged] = [join(folder.path, "export"), join(folder.path, "other"), join(folder.path, "forged")];
    assert.equal((await runHoltd(["export", "my-org", exported], from)).code, 0);
    assert.equal((await runHoltd(["export", "other-org", ofOther], to)).code, 0);
    const [own, other] = [(await manifestIn(exported)).organization.uid, (await manifestIn(ofOther)).organization.uid];
    for (const [table, row] of foreignRows(await rowsIn(exported), own, other)) {
      await cp(exported, forged, { recursive: true });
      await addRow(forged, table, row);
      const { code, stderr } = await runHoltd(["import", "org", forged], to);
      assert.equal(code, 1, table);
      assert.match(stderr, new RegExp(`a row of ${table} in the export does not belong to the organization ${own}`));
      await rm(forged, { recursive: true });
    }
    await cp(exported, forged, { recursive: true });
    const manifest = await manifestIn(forged);
    await writeFile(join(forged, MANIFEST), JSON.stringify({ ...manifest, organization: { uid: `${other}/0123456789abcdef`, name: "g" } }));
    assert.match((await runHoltd(["import", "org", forged], to)).stderr, /is not the uid of an organization/);
    assert.match((await runHoltd(["export", "my-org", join(folder.path, "none")], to)).stderr, /there is no organization "my-org"/);
    const { code, stdout, stderr } = await runHoltd(["import", "org", exported], to);
    assert.equal(code, 0, stdout + stderr);
  });

  test(`an import on ${store} refuses an export that names a blob whose content it does not have, although the server has it`, async () => {
    await using folder = await temporaryFolder();
    const from = { HOLT_DATA_DIR: join(folder.path, "from"), HOLT_LOG_LEVEL: "error" };
    const to = {
      ...{ HOLT_DATA_DIR: join(folder.path, "to"), HOLT_LOG_LEVEL: "error" },
      HOLT_DATABASE_URL: await createDatabaseOn(store),
    };
    await createImage(from);
    // The organization of the other server has content that the export does not have.
    const secret = await createImage({ ...to, HOLT_ORG_NAME: "other-org" }, "secret bytes", "other-org");
    const size = "secret bytes of layer 0".length;
    const [exported, forged] = [join(folder.path, "export"), join(folder.path, "forged")];
    assert.equal((await runHoltd(["export", "my-org", exported], from)).code, 0);
    const refuse = async (message: RegExp) => {
      const { code, stderr } = await runHoltd(["import", "org", forged], to);
      assert.equal(code, 1, stderr);
      assert.match(stderr, message);
    };
    const refuseRow = async (table: string, row: Row, message: RegExp) => {
      await cp(exported, forged, { recursive: true });
      await addRow(forged, table, row);
      await refuse(message);
      await rm(forged, { recursive: true });
    };
    const [manifest = {}] = (await rowsIn(exported)).get("manifest") ?? [];
    const content = Buffer.from(String(manifest.content), "base64").toString();
    const naming = Buffer.from(content.replace(/sha256:[0-9a-f]{64}/, secret));
    const forgedManifest = { ...manifest, digest: digestOf(naming), content: naming.toString("base64") };
    await refuseRow("manifest", forgedManifest, new RegExp(`a row of manifest in the export names the blob ${secret}, which`));
    // Under the digest of a manifest of another organization, its packages would be shown.
    const foreign = { ...manifest, digest: digestOf(Buffer.from("another manifest")) };
    await refuseRow("manifest", foreign, /the content of the manifest sha256:[0-9a-f]+ in the export is damaged/);
    await cp(exported, forged, { recursive: true });
    const [row = {}] = (await rowsIn(exported)).get("repo_blob") ?? [];
    await addRow(forged, "repo_blob", { ...row, digest: secret });
    await refuse(new RegExp(`a row of repo_blob in the export names the blob ${secret}, which the export does not have`));
    await listBlob(forged, `${secret} ${size}`);
    await refuse(new RegExp(`the export has lost the blob ${secret}`));
    await mkdir(dirname(blobIn(forged, secret)), { recursive: true });
    await writeFile(blobIn(forged, secret), "x".repeat(size));
    await refuse(new RegExp(`the blob ${secret} of the export is damaged`));
    await writeFile(blobIn(forged, secret), "secret bytes of layer 0");
    const { code, stdout, stderr } = await runHoltd(["import", "org", forged], to);
    assert.equal(code, 0, stdout + stderr);
  });
}

/** Rows that would give rights in another organization, or change what belongs to it or to all, by the names of their tables. */
function foreignRows(rows: Exported, own: string, other: string): (readonly [table: string, row: Row])[] {
  const uid = `${other}/0123456789abcdef`;
  const [binding = {}] = rows.get("role_binding") ?? [];
  const [entry = {}] = rows.get("audit_entry") ?? [];
  const [create_time, update_time] = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"];
  const texts = { creator: "", kind: "", file_name: "", file: "f", write_time: "", error: "", etag: "", last_modified: "", digest: "" };
  const counts = { attempts: 0, read_count: 0, created_count: 0, updated_count: 0, unchanged_count: 0, problem_count: 0 };
  const advisoryImport = { org_uid: own, state: "done", received_bytes: 0, approves: 0, may_delete: 0, create_time, ...counts, ...texts };
  return [
    ["role_binding", { ...binding, uid, parent: other }],
    ["role_binding", { ...binding, uid: `${own}/0123456789abcdef`, parent: other }],
    ["membership", { identity_uid: binding.identity_uid ?? "", org_uid: other, state: "joined", email: "", create_time, update_time }],
    ["vulnerability", { id: "CVE-2024-0001", update_time, modified_time: update_time, severities: "[]", body: "{}" }],
    ["advisory_import", { uid, parent: other, ...advisoryImport }],
    ["audit_entry", { seq: 1000, content: String(entry.content).replaceAll(own, other) }],
  ];
}

async function manifestIn(folder: string): Promise<ExportedOrganization> {
  return JSON.parse(await readFile(join(folder, MANIFEST), "utf8")) as ExportedOrganization;
}

/** Adds a row to an export, with its hash. */
async function addRow(folder: string, table: string, row: Row): Promise<void> {
  const manifest = await manifestIn(folder);
  const tables = await Promise.all(
    manifest.tables.map(async (known) => {
      if (known.name !== table) return known;
      const path = `rows/${table}/999999.jsonl.zst`;
      const line = JSON.stringify(known.columns.map((column) => row[column] ?? null));
      const bytes = zstdCompressSync(`${line}\n`);
      await mkdir(join(folder, "rows", table), { recursive: true });
      await writeFile(join(folder, path), bytes);
      return { ...known, files: [...known.files, { path, size: bytes.length, sha256: sha256Hex(bytes) }] };
    }),
  );
  await writeFile(join(folder, MANIFEST), JSON.stringify({ ...manifest, tables }));
}

/** Adds a line to the list of blobs of an export, with its hash. */
async function listBlob(folder: string, line: string): Promise<void> {
  const manifest = await manifestIn(folder);
  const { path } = manifest.blobs.file;
  const text = `${await readFile(join(folder, path), "utf8")}${line}\n`;
  await writeFile(join(folder, path), text);
  const file = { path, size: Buffer.byteLength(text), sha256: sha256Hex(text) };
  await writeFile(join(folder, MANIFEST), JSON.stringify({ ...manifest, blobs: { ...manifest.blobs, file } }));
}
