/** Backups in S3: interruptions, damage, and blobs that are restored into a bucket. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { S3_CREDENTIALS, type S3Server, startS3Server } from "../harness/blobs/s3-server.ts";
import { freePort } from "../harness/free-port.ts";
import { printedToken, runHoltd, type Settings, startHoltd, type TemporaryFolder, temporaryFolder } from "../harness/holtd.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";

const NAME = "my-org/app";
const TARGET = "s3://blobs/backups";
/** More than a part of a multipart upload. */
const LARGE_BYTES = 9 * 1024 * 1024;

let s3: S3Server;
let folder: TemporaryFolder;
let settings: Settings;
before(async () => {
  s3 = await startS3Server();
  folder = await temporaryFolder();
  settings = {
    ...s3.env,
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    HOLT_BASE_URL: "http://127.0.0.1:8097",
    HOLT_BACKUP_PASSPHRASE: "correct horse",
    HOLT_LOG_LEVEL: "error",
  };
});
after(async () => {
  await folder[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

async function settingsOf(name: string, blobs: string): Promise<Settings> {
  return { ...settings, HOLT_DATA_DIR: join(folder.path, name), HOLT_BLOBS: blobs, HOLT_LISTEN: `127.0.0.1:${await freePort()}` };
}

test("a backup and a restore in S3 continue after interruptions, and damage is named", async () => {
  const first = await settingsOf("first", "folder");
  const contents = [randomBytes(LARGE_BYTES), randomBytes(0), randomBytes(3000), randomBytes(70_000)];
  const digests: string[] = [];
  {
    await using _server = await startHoltd(first);
    using client = createRegistryClient(`http://${first.HOLT_LISTEN}`, basic("_token", await printedToken(first)));
    for (const content of contents) digests.push((await client.blob(NAME, content)).digest);
  }
  let requests = 0;
  s3.fault = ({ operation }) =>
    /^(PutObject|UploadPart)$/.test(operation) && ++requests > 2 ? { code: "AccessDenied", status: 403 } : undefined;
  const cut = await runHoltd(["backup", TARGET], first);
  assert.equal(cut.code, 1);
  assert.match(cut.stderr, /^holtd: cannot write s3:\/\/blobs\/backups\/.*AccessDenied/m);
  s3.fault = undefined;
  const backup = await runHoltd(["backup", "--verify-all", TARGET], first);
  assert.equal(backup.code, 0, backup.stderr);
  assert.deepEqual(s3.objects.multiparts(), [], "an interrupted backup leaves no parts");

  const second = await settingsOf("second", "s3://blobs/restored");
  requests = 0;
  s3.fault = ({ operation, key }) =>
    key.includes("restored/") && /^(PutObject|UploadPart)$/.test(operation) && ++requests > 2
      ? { code: "AccessDenied", status: 403 }
      : undefined;
  assert.equal((await runHoltd(["restore", TARGET], second)).code, 1);
  s3.fault = undefined;
  const restore = await runHoltd(["restore", TARGET], second);
  assert.equal(restore.code, 0, restore.stderr + restore.stdout);
  {
    await using _server = await startHoltd(second);
    using client = createRegistryClient(`http://${second.HOLT_LISTEN}`, basic("_token", await printedToken(second)));
    for (const [index, digest] of digests.entries()) {
      const { status, body } = await client.send("GET", `${NAME}/blobs/${digest}`);
      assert.deepEqual([status, body.equals(contents[index] ?? Buffer.alloc(0))], [200, true]);
    }
  }
  const occupied = await runHoltd(["restore", TARGET], await settingsOf("third", "s3://blobs/restored"));
  assert.match(occupied.stderr, /a restore needs an empty place for blobs, but s3:\/\/blobs\/restored\/ has objects/);

  const key = s3.objects.keys().find((path) => path.startsWith("backups/blobs/") && path.endsWith(digests[2]!.slice(7))) ?? "";
  s3.objects.put(key, randomBytes(3000));
  const damaged = await runHoltd(["restore", TARGET], await settingsOf("fourth", "s3://blobs/fourth"));
  assert.equal(damaged.code, 1);
  assert.ok(damaged.stderr.includes(`the blob ${digests[2]} of the backup is damaged`), damaged.stderr);
  assert.ok(!s3.objects.keys().some((path) => path.startsWith("fourth/") && path.endsWith(digests[2]!.slice(7))));
});

test("a target in S3 may have an endpoint of its own, and a malformed one is refused", async () => {
  const endpoint = s3.env.HOLT_S3_ENDPOINT;
  const own = { ...(await settingsOf("fifth", "folder")), HOLT_S3_ENDPOINT: "http://127.0.0.1:9", HOLT_S3_PATH_STYLE: "off" };
  const list = await runHoltd(["restore", "--list", `${TARGET}?endpoint=${endpoint}&path-style=on&region=us-east-1`], own);
  assert.match(list.stdout, /^\d{8}T\d{9}Z$/m, list.stderr);
  for (const target of ["gs://bucket/prefix", "s3://blobs/backups?endpoint=ftp://x", "s3://blobs/backups?user=me", "s3://B/../x"]) {
    const { code, stderr } = await runHoltd(["backup", target], own);
    assert.deepEqual([code, /is neither a folder nor s3:/.test(stderr)], [1, true], stderr);
  }
});

test("a bucket that cannot be used is reported with the remedy, by the server and by a backup", async () => {
  // The credentials and the region of this machine are not those of the test.
  const ofMachine = { AWS_SHARED_CREDENTIALS_FILE: "/dev/null", AWS_CONFIG_FILE: "/dev/null", AWS_EC2_METADATA_DISABLED: "true" };
  const given = { ...(await settingsOf("mistaken", "folder")), ...ofMachine };
  {
    await using _server = await startHoltd(given);
  }
  const bucket = "s3://blobs/mistaken";
  for (const [mistake, place, message] of [
    [{}, "s3://no-such-bucket/x", /NoSuchBucket; create the bucket, or correct its name/],
    [{ AWS_SECRET_ACCESS_KEY: "wrong" }, bucket, /SignatureDoesNotMatch; check AWS_SECRET_ACCESS_KEY/],
    [{ AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" }, bucket, /; set AWS_ACCESS_KEY_ID and/],
    [{ HOLT_S3_REGION: "" }, bucket, /; set HOLT_S3_REGION to the region of the bucket/],
    [
      { HOLT_S3_ENDPOINT: `http://127.0.0.1:${await startPage()}` },
      bucket,
      /: the answer is not that of an S3 service; check HOLT_S3_ENDPOINT$/m,
    ],
  ] as const) {
    const wrong = { ...given, ...mistake };
    const backup = await runHoltd(["backup", place], wrong);
    assert.equal(backup.code, 1, backup.stderr);
    assert.match(backup.stderr, message);
    const server = await runHoltd([], { ...wrong, HOLT_BLOBS: place, HOLT_DATA_DIR: join(folder.path, "none") });
    assert.equal(server.code, 1, server.stderr);
    assert.match(server.stderr, message);
  }
});

test("a list of backups says so if there are none", async () => {
  const { code, stdout, stderr } = await runHoltd(["restore", "--list", "s3://blobs/nothing"], await settingsOf("listing", "folder"));
  assert.deepEqual([code, stdout, stderr], [0, "", "s3://blobs/nothing/ has no complete backup\n"]);
});

/** A server that is not S3. @returns its port */
async function startPage(): Promise<number> {
  const server = createServer((_request, response) => response.writeHead(404).end('{"code":5}')).listen(0, "127.0.0.1");
  server.unref();
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
