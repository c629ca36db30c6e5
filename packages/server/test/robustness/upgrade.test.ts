/**
 * The current server serves the data of earlier releases. Each archive in `earlier/` was written by the code of its
 * time: a database (the SQLite file, or a dump), the blobs, and facts.json, which says what must still be served.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { migrations } from "../../src/domains.ts";
import { freePort } from "../harness/free-port.ts";
import {
  createInstallation,
  get,
  printedToken,
  runHoltd,
  type Settings,
  startHoltd,
  startProcess,
  temporaryFolder,
} from "../harness/holtd.ts";
import { createDatabase } from "../harness/postgres.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";

const FOLDER = join(import.meta.dirname, "earlier");
/** The issuer of the earlier servers. */
const HOLT_BASE_URL = "http://127.0.0.1:8099";
const LAYER = "a layer of an earlier release";

interface Facts {
  readonly org: string;
  readonly group: string;
  readonly role: string;
  readonly identity: string;
  readonly binding: string;
  readonly repo: string;
  readonly layer: string;
  readonly kid: string;
}

for (const archive of readdirSync(FOLDER)) {
  test(`the server migrates and serves the data of ${archive.replace(".tar.gz", "")}`, async () => {
    await using folder = await temporaryFolder();
    await promisify(execFile)("tar", ["-xzf", join(FOLDER, archive), "-C", folder.path]);
    const facts = JSON.parse(await readFile(join(folder.path, "facts.json"), "utf8")) as Facts;
    const settings = await settingsOf(archive, folder.path);
    const { HOLT_LISTEN } = settings;
    await assertPlan(settings);
    await using server = await startHoltd(settings);
    const url = `http://${HOLT_LISTEN}`;
    const token = await printedToken(settings);
    const named = async (path: string, uid: string) => {
      const { status, json } = await get(url, `${path}/${uid}`, token);
      assert.deepEqual([status, (json as { uid?: string }).uid], [200, uid], `${path}: ${JSON.stringify(json)}`);
      return json as { name?: string; description?: string };
    };
    assert.equal((await named("/iam/v2/groups", facts.org)).name, "my-org");
    assert.equal((await named("/iam/v2/groups", facts.group)).description, "kept over an upgrade");
    for (const [path, uid] of [
      ["/iam/v2/roles", facts.role],
      ["/iam/v2/identities", facts.identity],
      ["/iam/v2/roleBindings", facts.binding],
      ["/registry/v2/repos", facts.repo],
    ] as const)
      await named(path, uid);
    await assertServesImage(url, token, facts);
    // Tokens that the earlier server signed stay valid.
    const keys = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
    assert.ok(keys.keys.some(({ kid }) => kid === facts.kid));
    const made = await fetch(`${url}/iam/v2/groups/${facts.group}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "after-the-upgrade" }),
    });
    assert.equal(made.status, 200, await made.text());
    assert.equal(await (await fetch(`${url}/readyz`)).text(), "ok\n");
    assert.doesNotMatch(server.stderr(), /"level":50/);
  });

  test(`the server serves the data of ${archive.replace(".tar.gz", "")} after kills in the middle of the migrations`, async (t) => {
    await using folder = await temporaryFolder();
    await promisify(execFile)("tar", ["-xzf", join(FOLDER, archive), "-C", folder.path]);
    const facts = JSON.parse(await readFile(join(folder.path, "facts.json"), "utf8")) as Facts;
    const settings = await settingsOf(archive, folder.path);
    await using schema = await watchSchema(settings);
    for (let round = 0; round < 3; round++) {
      const before = await schema.version();
      await using server = startProcess([], settings);
      await until(async () => (await schema.version()) > before || server.stdout().includes("Holt is ready"));
      server.kill("SIGKILL");
      await server.ended;
      t.diagnostic(`killed between schema ${before} and ${migrations.length}, at ${await schema.version()}`);
    }
    await using _server = await startHoltd(settings);
    assert.equal(await schema.version(), migrations.length);
    await assertServesImage(`http://${settings.HOLT_LISTEN}`, await printedToken(settings), facts);
    const check = await runHoltd(["verify"], settings);
    assert.equal(check.code, 0, check.stdout + check.stderr);
  });
}

async function settingsOf(archive: string, folder: string) {
  const HOLT_DATABASE_URL = archive.includes("postgres") ? await restored(join(folder, "dump.sql")) : "";
  return { HOLT_DATA_DIR: folder, HOLT_DATABASE_URL, HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_BASE_URL, HOLT_LOG_LEVEL: "warn" };
}

/** `holtd upgrade check` announces the migrations and does not run them. */
async function assertPlan(settings: Settings): Promise<void> {
  for (let run = 0; run < 2; run++) {
    const { code, stdout, stderr } = await runHoltd(["upgrade", "check"], settings);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`^Migrates the database to schema ${migrations.length}: `, "m"));
    assert.match(stdout, /^Make a backup first/m);
  }
}

/** Reads the version of the schema next to a server. */
async function watchSchema({ HOLT_DATABASE_URL, HOLT_DATA_DIR }: Awaited<ReturnType<typeof settingsOf>>) {
  const query = "select max(version) as version from schema_migration";
  if (HOLT_DATABASE_URL === "") {
    const version = async () => {
      using database = new DatabaseSync(join(HOLT_DATA_DIR, "holt.db"), { timeout: 5000 });
      return Number(database.prepare(query).get()?.version);
    };
    return { version, async [Symbol.asyncDispose]() {} };
  }
  const client = new pg.Client({ connectionString: HOLT_DATABASE_URL });
  await client.connect();
  const version = async () => Number((await client.query(query)).rows[0].version);
  return { version, [Symbol.asyncDispose]: () => client.end() };
}

test("upgrade check announces nothing on current data, and a refusal on newer data", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}` };
  await createInstallation(settings);
  const current = await runHoltd(["upgrade", "check"], settings);
  assert.deepEqual([current.code, current.stdout.split("\n")[1]], [0, "A start changes nothing."], current.stderr);
  {
    using database = new DatabaseSync(join(folder.path, "holt.db"));
    database.exec(`insert into schema_migration values (${migrations.length + 1}, 'later', '')`);
  }
  const newer = await runHoltd(["upgrade", "check"], settings);
  assert.equal(newer.code, 3);
  assert.match(newer.stdout, /^A start is refused: the data has schema \d+, of a newer Holt/m);
});

async function assertServesImage(url: string, token: string, { layer }: Facts): Promise<void> {
  using client = createRegistryClient(url, basic("_token", token));
  const manifest = await client.send("GET", "my-org/team/app/manifests/1.0");
  assert.equal(manifest.status, 200, manifest.body.toString());
  assert.ok(manifest.body.toString().includes(layer));
  assert.equal((await client.send("GET", `my-org/team/app/blobs/${layer}`)).body.toString(), LAYER);
}

/** A new database with the content of the dump. @returns its URL */
async function restored(dump: string): Promise<string> {
  const url = await createDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(await readFile(dump, "utf8"));
  } finally {
    await client.end();
  }
  return url;
}
