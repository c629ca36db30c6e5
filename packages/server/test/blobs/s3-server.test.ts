/** Servers that share nothing but the database and a bucket serve images and libraries from it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { useS3Credentials } from "../harness/blobs/blob-stores.ts";
import { type S3Server, startS3Server } from "../harness/blobs/s3-server.ts";
import { startServer, type TestServer } from "../harness/harness.ts";
import { runHoltd } from "../harness/holtd.ts";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";

const MIB = 1024 * 1024;
const NAME = "my-org/app";
const SECRETS_KEY = randomBytes(32).toString("base64");

describe("two servers with PostgreSQL and a bucket", () => {
  let s3: S3Server;
  let one: TestServer;
  let two: TestServer;
  let first: RegistryClient;
  let second: RegistryClient;
  let env: Record<string, string>;
  before(async () => {
    useS3Credentials();
    s3 = await startS3Server();
    // No work in the background, which would read from the bucket while a test counts the requests of its own.
    const idle = { HOLT_GC_INTERVAL: "0", HOLT_IMAGE_PACKAGES: "off" };
    const shared = { ...s3.env, ...idle, HOLT_SECRETS_KEY: SECRETS_KEY, HOLT_GC_GRACE: "0" };
    one = await startServer({ store: "postgres", env: shared });
    env = { ...shared, HOLT_DATABASE_URL: one.databaseUrl };
    two = await startServer({ env: { ...env, HOLT_BLOBS_REDIRECT: "on", HOLT_BASE_URL: one.baseUrl } });
    first = createRegistryClient(one.baseUrl, basic("_token", one.token));
    second = createRegistryClient(two.baseUrl.replace(/:\d+$/, `:${two.port}`), basic("_token", one.token));
  });
  after(async () => {
    for (const client of [first, second]) client?.[Symbol.dispose]();
    for (const server of [two, one, s3]) await server?.[Symbol.asyncDispose]();
  });

  const operations = async (work: () => Promise<unknown>): Promise<string[]> => {
    const begun = s3.requests.length;
    await work();
    return s3.requests.slice(begun).map(({ operation }) => operation);
  };
  const configOf = async (client: RegistryClient): Promise<{ digest: string }> =>
    JSON.parse((await client.send("GET", `${NAME}/manifests/latest`)).body.toString()).config;
  const pathOf = (location: string | undefined) => (location ?? "").replace("/v2/", "");

  test("a push that began on one server ends on the other, and both serve the image", async () => {
    const content = randomBytes(20 * MIB);
    const middle = 11 * MIB;
    const digest = digestOf(content);
    const begun = pathOf((await first.send("POST", `${NAME}/blobs/uploads/`)).headers.location);
    const chunk = (start: number, end: number) => ({
      headers: { "content-type": "application/octet-stream", "content-range": `${start}-${end - 1}` },
      body: content.subarray(start, end),
    });
    assert.equal((await first.send("PATCH", begun, chunk(0, middle))).status, 202);
    assert.equal((await second.send("GET", begun)).headers.range, `0-${middle - 1}`);
    assert.equal((await second.send("PATCH", begun, chunk(middle, content.length))).status, 202);
    assert.equal((await first.send("PUT", `${begun}?digest=${digest}`)).status, 201);
    assert.ok((await first.send("GET", `${NAME}/blobs/${digest}`)).body.equals(content));
  });

  test("HEAD, manifests and mounts send no request to S3", async () => {
    await first.image(NAME, "latest");
    const { digest } = await configOf(first);
    const sent = await operations(async () => {
      assert.equal((await first.send("HEAD", `${NAME}/blobs/${digest}`)).status, 200);
      assert.equal((await second.send("GET", `${NAME}/manifests/latest`)).status, 200);
      assert.equal((await second.send("HEAD", `${NAME}/manifests/latest`)).status, 200);
      assert.equal((await first.send("POST", `my-org/other/blobs/uploads/?mount=${digest}&from=${NAME}`)).status, 201);
    });
    assert.deepEqual(sent, []);
  });

  test("pulls are redirected to URLs that serve ranges and expire", async () => {
    const content = randomBytes(1000);
    const { digest } = await first.blob(NAME, content);
    const redirect = await second.send("GET", `${NAME}/blobs/${digest}`, { headers: { range: "bytes=10-19" } });
    assert.equal(redirect.status, 307);
    assert.equal(redirect.headers["cache-control"], "no-store");
    const url = redirect.headers.location ?? "";
    assert.ok(url.startsWith(`${s3.url}/`));
    const whole = await fetch(url);
    assert.deepEqual(Buffer.from(await whole.arrayBuffer()), content);
    assert.equal(whole.headers.get("content-type"), "application/octet-stream");
    const part = await fetch(url, { headers: { range: "bytes=10-19" } });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), content.subarray(10, 20));
    s3.skewMs = 16 * 60_000;
    assert.equal((await fetch(url)).status, 403);
    s3.skewMs = 0;
    assert.equal((await second.send("HEAD", `${NAME}/blobs/${digest}`)).headers["content-length"], "1000");
    assert.ok((await first.send("GET", `${NAME}/blobs/${digest}`)).body.equals(content));
  });

  test("a small blob that is pushed with one request is stored with one request", async () => {
    const sent = await operations(async () => {
      const { status } = await first.send("POST", `${NAME}/blobs/uploads/?digest=${digestOf(Buffer.from("x"))}`, { body: "x" });
      assert.equal(status, 201);
    });
    assert.deepEqual(sent, ["PutObject"]);
  });

  test("holtd gc removes what no image needs from the bucket, and a dry run lists it once", async () => {
    await first.blob("my-org/unused", randomBytes(500));
    const orphan = `holt/blobs/sha256/${digestOf(Buffer.from("orphan")).slice(7)}`;
    s3.objects.put(orphan, Buffer.from("orphan"), new Date(Date.now() - 3_600_000));
    const dataDir = await mkdtemp(join(tmpdir(), "holt-gc-"));
    const settings = { ...env, HOLT_DATA_DIR: dataDir, AWS_ACCESS_KEY_ID: "holt", AWS_SECRET_ACCESS_KEY: "holt-secret" };
    const before = s3.objects.keys();
    const sent = await operations(async () => {
      const { code, stdout, stderr } = await runHoltd(["gc", "--dry-run"], settings);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`blob ${digestOf(Buffer.from("orphan"))} 6`));
    });
    // The id of the place, unfinished uploads and copies, and the blobs of two algorithms.
    assert.deepEqual(sent.filter((operation) => operation !== "GetObject").sort(), [
      "ListMultipartUploads",
      ...Array.from({ length: 3 }, () => "ListObjectsV2"),
    ]);
    assert.deepEqual(s3.objects.keys(), before);
    assert.equal((await runHoltd(["gc"], settings)).code, 0);
    await rm(dataDir, { recursive: true });
    assert.ok(!s3.objects.has(orphan));
    // A versioned bucket keeps what was deleted.
    assert.ok(s3.objects.versions.some(({ key }) => key === orphan));
    assert.equal((await first.send("GET", `${NAME}/manifests/latest`)).status, 200);
    assert.equal((await first.send("GET", `${NAME}/blobs/${(await configOf(second)).digest}`)).status, 200);
  });

  test("a database without blobs refuses the bucket of another one", async () => {
    await assert.rejects(startServer({ env: s3.env }), /s3:\/\/blobs\/holt\/ has images of another database/);
  });
});
