/** Servers with a bucket share the feeds that each of them builds, and the commands of operators know their files. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { allowWriting, get, getZip, later, put } from "../../harness/advisories/feed-client.ts";
import { useS3Credentials } from "../../harness/blobs/blob-stores.ts";
import { S3_CREDENTIALS, type S3Server, startS3Server } from "../../harness/blobs/s3-server.ts";
import { startServer, type TestServer } from "../../harness/harness.ts";
import { runHoltd, type Settings, temporaryFolder } from "../../harness/holtd.ts";
import { startWorld, type World } from "../../harness/world.ts";

const PREFIX = "feeds";
const FILES = ["osv.zip", "openvex.json", "csaf.zip", "secdb.json"];

describe("feeds of two servers with a bucket", () => {
  let s3: S3Server;
  let world: World;
  let second: TestServer;
  let other: World;
  let settings: Settings;
  let group: string;
  before(async () => {
    useS3Credentials();
    s3 = await startS3Server();
    const shared = {
      ...s3.env,
      HOLT_BLOBS: `s3://blobs/${PREFIX}`,
      HOLT_SECRETS_KEY: randomBytes(32).toString("base64"),
      HOLT_GC_INTERVAL: "0",
    };
    world = await startWorld({ store: "postgres", env: shared });
    const sameDatabase = { ...shared, HOLT_DATABASE_URL: world.databaseUrl, HOLT_BASE_URL: world.baseUrl };
    second = await startServer({ env: sameDatabase, clock: world.clock });
    other = { ...world, baseUrl: `http://127.0.0.1:${second.port}` };
    settings = { ...sameDatabase, AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey };
    await allowWriting(world);
    group = await world.group(world.orgUid, "advisories");
    for (let i = 0; i < 3; i++) await put(world, group, { advisoryId: `CGA-000${i}-2222-2222` });
  });
  after(async () => {
    await second?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    await s3?.[Symbol.asyncDispose]();
  });

  const rows = (table: "feed" | "feed_file") => world.store.reader.selectFrom(table).select("build").orderBy("build").execute();
  const digestsOf = async (part: "data" | "index") => {
    const isCurrent = world.store.reader.selectFrom("feed").select("build");
    const files = world.store.reader.selectFrom("feed_file").select("digest").where("part", "=", part).where("build", "in", isCurrent);
    return (await files.execute()).map(({ digest }) => digest);
  };
  const keyOf = (digest: string) => `${PREFIX}/blobs/${digest.replace(":", "/")}`;

  it("a server sends the feeds that another one built, compressed ones included", async () => {
    const built = [];
    for (const file of FILES) built.push(await get(world, `${group}/${file}`));
    const [feeds, files] = [await rows("feed"), await rows("feed_file")];
    assert.equal(feeds.length, FILES.length);
    for (const [index, file] of FILES.entries()) {
      const sent = await get(other, `${group}/${file}`);
      assert.equal(sent.status, 200);
      assert.ok(sent.bytes.equals(built[index]!.bytes), file);
      for (const name of ["etag", "last-modified", "content-type", "content-encoding"])
        assert.equal(sent.headers.get(name), built[index]!.headers.get(name), name);
      const head = await get(other, `${group}/${file}`, { method: "HEAD", headers: { "accept-encoding": "identity" } });
      assert.equal(
        head.headers.get("content-length"),
        String((await get(other, `${group}/${file}`, { headers: { "accept-encoding": "identity" } })).bytes.length),
      );
    }
    assert.deepEqual(await rows("feed"), feeds);
    assert.deepEqual(await rows("feed_file"), files);
    for (const digest of await digestsOf("data")) assert.ok(s3.objects.has(keyOf(digest)));
    for (const dataDir of [world.dataDir, second.dataDir]) assert.deepEqual(await readdir(join(dataDir, "feeds")).catch(() => []), []);
  });

  it("a server builds a feed from the changes since another one built it", async () => {
    await getZip(world, `${group}/osv.zip`);
    const index = (await digestsOf("index")).map(keyOf);
    await later(world);
    await put(world, group, { advisoryId: "CGA-0009-2222-2222" });
    const begin = s3.requests.length;
    const changed = await getZip(other, `${group}/osv.zip`);
    assert.ok(changed.has("CGA-0009-2222-2222.json"));
    assert.ok(s3.requests.slice(begin).some(({ operation, key }) => operation === "GetObject" && index.includes(key)));
    assert.deepEqual(await getZip(world, `${group}/osv.zip`), changed);
  });

  async function run(args: readonly string[], more: Settings): Promise<void> {
    const { code, stdout, stderr } = await runHoltd(args, { ...settings, ...more });
    assert.equal(code, 0, stdout + stderr);
  }

  it("a feed whose object was deleted in the bucket is built again by the server that is asked", async () => {
    await using folder = await temporaryFolder();
    const before = await getZip(world, `${group}/osv.zip`);
    for (const digest of [...(await digestsOf("data")), ...(await digestsOf("index"))]) s3.objects.delete(keyOf(digest));
    await run(["verify", "--quick"], { HOLT_DATA_DIR: folder.path });
    assert.deepEqual(await getZip(other, `${group}/osv.zip`), before);
    assert.deepEqual(await getZip(world, `${group}/osv.zip`), before);
  });

  it("collection keeps feeds, backups leave them out, and a migration moves them", async () => {
    await using folder = await temporaryFolder();
    const place = { HOLT_DATA_DIR: folder.path };
    for (const file of FILES) assert.equal((await get(world, `${group}/${file}`)).status, 200);
    const digests = [...(await digestsOf("data")), ...(await digestsOf("index"))];
    const hexes = digests.map((digest) => digest.slice(digest.indexOf(":") + 1));
    await run(["gc"], { ...place, HOLT_GC_GRACE: "0" });
    for (const digest of digests) assert.ok(s3.objects.has(keyOf(digest)));
    const backup = join(folder.path, "backup");
    await run(["backup", backup], place);
    const saved = await readdir(join(backup, "blobs"), { recursive: true }).catch(() => []);
    for (const hex of hexes) assert.ok(!saved.some((name) => name.includes(hex)), hex);
    await run(["verify"], place);

    await run(["blobs", "migrate"], { ...place, HOLT_BLOBS: "folder", HOLT_BLOBS_FALLBACK: settings.HOLT_BLOBS! });
    for (const hex of hexes) assert.ok(existsSync(join(folder.path, "blobs/sha256", hex.slice(0, 2), hex)));
  });
});
