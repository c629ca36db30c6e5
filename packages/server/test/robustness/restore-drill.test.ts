/** A backup under load, of a server that is then killed, restores to the same resources and images. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { S3_CREDENTIALS, startS3Server } from "../harness/blobs/s3-server.ts";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabase } from "../harness/postgres.ts";
import { createRandom, seedOf } from "../harness/random.ts";
import { basic, createRegistryClient, digestOf, type RegistryClient } from "../harness/registry/registry-client.ts";
import { type Ledger, writeUntilGone } from "../harness/robustness/writers.ts";
import { until } from "../harness/wait.ts";

const SEED = seedOf(18);
const BASE_URL = "http://127.0.0.1:8098";
const PASSPHRASE = "correct horse battery staple";
const IMAGES = 6;

const LISTS = [
  ["/iam/v2/groups", "groups"],
  ["/iam/v2/identities", "identities"],
  ["/iam/v2/roles", "roles"],
  ["/iam/v2/roleBindings", "roleBindings"],
  ["/registry/v2/repos", "repos"],
  ["/registry/v2/tags", "tags"],
  ["/events/v2/subscriptions", "subscriptions"],
] as const;

interface Resource {
  readonly uid: string;
}

/** All resources below a group, by uid. */
async function resourcesBelow(url: string, group: string, token: string): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const [path, field] of LISTS) {
    for (let page = ""; ; ) {
      const { status, json } = await get(
        url,
        `${path}?uidp.descendants_of=${encodeURIComponent(group)}&page_size=200&page_token=${page}`,
        token,
      );
      assert.equal(status, 200, `${path}: ${JSON.stringify(json)}`);
      const answer = json as Record<string, Resource[]> & { nextPageToken?: string };
      for (const resource of answer[field] ?? []) found.set(resource.uid, resource);
      page = encodeURIComponent(answer.nextPageToken ?? "");
      if (page === "") break;
    }
  }
  return found;
}

/** Reads each tag with all of its blobs, and compares the digests. @returns the digests of the manifests */
async function pullAll(client: RegistryClient, repository: string): Promise<string[]> {
  const answer = await client.send("GET", `${repository}/tags/list`);
  if (answer.status === 404) return [];
  const { tags } = answer.json() as { tags: string[] };
  const digests: string[] = [];
  for (const tag of tags) {
    const { status, body } = await client.send("GET", `${repository}/manifests/${tag}`);
    assert.equal(status, 200, `${repository}:${tag}: ${body}`);
    const manifest = JSON.parse(body.toString()) as { config: { digest: string }; layers: { digest: string }[] };
    for (const { digest } of [manifest.config, ...manifest.layers]) {
      const blob = await client.send("GET", `${repository}/blobs/${digest}`);
      assert.equal(blob.status, 200, `${repository}:${tag} ${digest}`);
      assert.equal(digestOf(blob.body), digest);
    }
    digests.push(digestOf(body));
  }
  return digests.sort();
}

async function post(url: string, path: string, body: object, token: string): Promise<{ uid: string }> {
  const answer = await fetch(url + path, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(body) });
  const json = (await answer.json()) as { uid: string };
  assert.equal(answer.status, 200, JSON.stringify(json));
  return json;
}

/** Pushes images until the server is gone. */
async function pushUntilGone(client: RegistryClient, repository: string): Promise<void> {
  for (let i = 0; ; i++) {
    try {
      await client.image(repository, `load-${i}`);
    } catch {
      return;
    }
  }
}

async function drill(first: Settings, second: Settings, backups: string): Promise<void> {
  const random = createRandom(SEED);
  const listen = async () => `127.0.0.1:${await freePort()}`;
  const common = { HOLT_BASE_URL: BASE_URL, HOLT_BACKUP_PASSPHRASE: PASSPHRASE, HOLT_LOG_LEVEL: "error" };
  const settings: Settings = { ...first, ...common, HOLT_LISTEN: await listen() };
  await using server = await startHoltd(settings);
  const url = `http://${settings.HOLT_LISTEN}`;
  const token = await printedToken(settings);
  const { json } = await get(url, "/iam/v2/groups?uidp.in_root=true", token);
  const org = (json as { groups: Resource[] }).groups[0]?.uid ?? "";
  const quiet = (await post(url, `/iam/v2/groups/${org}`, { name: "quiet" }, token)).uid;
  const home = (await post(url, `/iam/v2/groups/${org}`, { name: "home" }, token)).uid;
  for (let i = 0; i < 20; i++) await post(url, `/iam/v2/groups/${quiet}`, { name: `g${i}`, description: `d${random.below(1000)}` }, token);
  for (const name of ["quiet/app", "home/app"]) {
    const parent = name.startsWith("quiet") ? quiet : home;
    await post(url, `/registry/v2/repos/${parent}`, { name: "app" }, token);
  }
  using client = createRegistryClient(url, basic("_token", token));
  for (let i = 0; i < IMAGES; i++) await client.image("my-org/quiet/app", `v${i}`);
  const large = randomBytes(3_000_000);
  const layer = await client.blob("my-org/quiet/app", large);
  const config = await client.blob("my-org/quiet/app", "{}");
  await client.manifest("my-org/quiet/app", { schemaVersion: 2, config, layers: [layer] }, "large");
  const wanted = await resourcesBelow(url, quiet, token);
  const wantedPulls = await pullAll(client, "my-org/quiet/app");
  assert.equal(wantedPulls.length, IMAGES + 1);

  const ledger: Ledger = { known: new Map(), pending: [], acknowledged: 0 };
  const homes = await Promise.all(
    [0, 1, 2].map(async (i) => (await post(url, `/iam/v2/groups/${home}`, { name: `home-${i}` }, token)).uid),
  );
  const writers = Promise.all(
    homes.map((own, i) => writeUntilGone({ baseUrl: url, token, home: own, name: `w${i}`, random: createRandom(SEED + i), ledger })),
  );
  writers.catch(() => {});
  const pushes = pushUntilGone(client, "my-org/home/app");
  await Promise.race([until(() => ledger.acknowledged > 20), writers]);
  const before = [...ledger.known.values()].map((resource) => ({ ...resource }));
  const run = await runHoltd(["backup", backups], settings);
  assert.equal(run.code, 0, run.stderr + run.stdout);
  assert.doesNotMatch(run.stdout, /secrets key is not in the backup/);
  const during = ledger.acknowledged;
  await Promise.race([until(() => ledger.acknowledged > during), writers]);
  server.kill("SIGKILL");
  await Promise.all([writers, pushes]);
  await server.ended;
  await assertRepeatable(settings, backups);

  const restored: Settings = { ...second, ...common, HOLT_LISTEN: await listen() };
  const [oldest = ""] = (await runHoltd(["restore", "--list", backups], restored)).stdout.split("\n");
  const wrong = await runHoltd(["restore", "--snapshot", oldest, backups], { ...restored, HOLT_BACKUP_PASSPHRASE: "wrong" });
  assert.deepEqual([wrong.code, /passphrase/.test(wrong.stderr)], [1, true], wrong.stderr);
  const restore = await runHoltd(["restore", "--snapshot", oldest, backups], restored);
  assert.equal(restore.code, 0, restore.stderr + restore.stdout);
  const again = await runHoltd(["restore", backups], restored);
  assert.match(again.stderr, /a restore needs an empty/);
  const check = await runHoltd(["verify"], restored);
  assert.equal(check.code, 0, check.stderr + check.stdout);
  assert.match(check.stdout, /^Checked \d+ blobs, \d+ manifests, \d+ audit chains and the counts: no problems\.$/m);

  await using other = await startHoltd(restored);
  const otherUrl = `http://${restored.HOLT_LISTEN}`;
  assert.deepEqual(await resourcesBelow(otherUrl, quiet, token), wanted);
  using otherClient = createRegistryClient(otherUrl, basic("_token", token));
  assert.deepEqual(await pullAll(otherClient, "my-org/quiet/app"), wantedPulls);
  await pullAll(otherClient, "my-org/home/app");
  const found = await resourcesBelow(otherUrl, home, token);
  const later = ledger.known;
  for (const { uid, state } of before)
    if (state === "there" && later.get(uid)?.state === "there") assert.ok(found.has(uid), `${uid} is lost`);
  await post(otherUrl, `/iam/v2/groups/${quiet}`, { name: "after-the-restore" }, token);
  assert.doesNotMatch(other.stderr(), /"level":50/);
}

/** A second backup copies only what is new, keeps the first, and a pruned backup is gone with its blobs. */
async function assertRepeatable(settings: Settings, backups: string): Promise<void> {
  const second = await runHoltd(["backup", backups], settings);
  assert.equal(second.code, 0, second.stderr);
  const [, all = "", copied = ""] = /the database and (\d+) blobs .* of which (\d+) of/.exec(second.stdout) ?? [];
  assert.ok(Number(copied) < Number(all), second.stdout);
  assert.equal((await runHoltd(["restore", "--list", backups], settings)).stdout.trim().split("\n").length, 2);
}

test("a backup under load on SQLite restores all resources and images", async () => {
  await using folder = await temporaryFolder();
  await drill({ HOLT_DATA_DIR: join(folder.path, "a") }, { HOLT_DATA_DIR: join(folder.path, "b") }, join(folder.path, "backups"));
});

test("a backup under load on PostgreSQL restores all resources and images", async () => {
  await using folder = await temporaryFolder();
  const [a, b] = [await createDatabase(), await createDatabase()];
  await drill(
    { HOLT_DATA_DIR: join(folder.path, "a"), HOLT_DATABASE_URL: a },
    { HOLT_DATA_DIR: join(folder.path, "b"), HOLT_DATABASE_URL: b },
    join(folder.path, "backups"),
  );
});

test("a backup under load to S3 restores all resources, and images into a bucket", async () => {
  await using folder = await temporaryFolder();
  await using s3 = await startS3Server();
  const common = { ...s3.env, AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey };
  await drill(
    { ...common, HOLT_DATA_DIR: join(folder.path, "a"), HOLT_BLOBS: "s3://blobs/first" },
    { ...common, HOLT_DATA_DIR: join(folder.path, "b"), HOLT_BLOBS: "s3://blobs/second" },
    "s3://blobs/backups",
  );
});
