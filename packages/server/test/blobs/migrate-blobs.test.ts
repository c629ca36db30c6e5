/** Blobs move between a folder and a bucket while servers read and write. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { useS3Credentials } from "../harness/blobs/blob-stores.ts";
import { S3_CREDENTIALS, type S3Server, startS3Server } from "../harness/blobs/s3-server.ts";
import { startServer } from "../harness/harness.ts";
import { runHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";

const NAME = "my-org/app";

describe("holtd blobs migrate", () => {
  let s3: S3Server;
  before(async () => {
    useS3Credentials();
    s3 = await startS3Server();
  });
  after(() => s3[Symbol.asyncDispose]());

  for (const direction of ["from a folder to S3", "from S3 to a folder"]) {
    test(`moves blobs ${direction} while a server runs, and continues after an interruption`, async () => {
      await using folder = await temporaryFolder();
      const bucket = `s3://blobs/${direction.replaceAll(" ", "-").toLowerCase()}`;
      const [from, to] = direction === "from a folder to S3" ? ["folder", bucket] : [bucket, "folder"];
      const shared = { ...s3.env, HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createMigratedDatabase(), HOLT_GC_INTERVAL: "0" };
      const env = { AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey };
      const digests: string[] = [];
      const contents = Array.from({ length: 6 }, (_, index) => randomBytes(index === 0 ? 0 : 1000 * 3 ** index));
      {
        await using server = await startServer({ env: { ...shared, HOLT_BLOBS: from } });
        using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
        for (const content of contents) digests.push((await client.blob(NAME, content)).digest);
      }
      const moving = { ...shared, HOLT_BLOBS: to, HOLT_BLOBS_FALLBACK: from };
      await using server = await startServer({ env: moving });
      using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
      const assertAllThere = async () => {
        for (const [index, digest] of digests.entries()) {
          const { status, body } = await client.send("GET", `${NAME}/blobs/${digest}`);
          assert.equal(status, 200);
          assert.ok(body.equals(contents[index] ?? Buffer.alloc(0)));
        }
      };
      await assertAllThere();
      const before = await client.blob(NAME, "pushed while blobs move");
      let requests = 0;
      s3.fault = ({ operation }) =>
        /^(PutObject|GetObject)$/.test(operation) && ++requests > 3 ? { code: "AccessDenied", status: 403 } : undefined;
      assert.equal((await runHoltd(["blobs", "migrate"], { ...moving, ...env })).code, 1);
      s3.fault = undefined;
      await assertAllThere();
      const { code, stdout, stderr } = await runHoltd(["blobs", "migrate"], { ...moving, ...env });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /All blobs are in the new place/);
      const again = await runHoltd(["blobs", "migrate"], { ...moving, ...env });
      assert.match(again.stdout, /Copied 0 blobs of 0 bytes; 6 blobs were there/);
      await assertAllThere();

      await using after = await startServer({ env: { ...shared, HOLT_BLOBS: to } });
      using reader = createRegistryClient(after.baseUrl, basic("_token", after.token));
      for (const digest of [...digests, before.digest]) assert.equal((await reader.send("GET", `${NAME}/blobs/${digest}`)).status, 200);
    });
  }

  /** Migrates a blob whose file was changed in the folder. */
  async function migrateChanged(prefix: string, change: (file: string) => Promise<void>) {
    await using folder = await temporaryFolder();
    const shared = { ...s3.env, HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createMigratedDatabase(), HOLT_GC_INTERVAL: "0" };
    const digest = digestOf(Buffer.from("a layer"));
    {
      await using server = await startServer({ env: { ...shared, HOLT_BLOBS: "folder" } });
      using client = createRegistryClient(server.baseUrl, basic("_token", server.token));
      await client.blob(NAME, "a layer");
    }
    const [shard = ""] = await readdir(join(folder.path, "blobs", "sha256"));
    await change(join(folder.path, "blobs", "sha256", shard, digest.slice(7)));
    const settings = { ...shared, HOLT_BLOBS: `s3://blobs/${prefix}`, HOLT_BLOBS_FALLBACK: "folder" };
    const env = { AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey };
    const { code, stderr } = await runHoltd(["blobs", "migrate"], { ...settings, ...env });
    return { code, stderr, digest, isCopied: s3.objects.has(`${prefix}/blobs/sha256/${digest.slice(7)}`) };
  }

  test("a blob with damaged bytes is reported and not copied", async () => {
    const { code, stderr, digest, isCopied } = await migrateChanged("damaged", (file) => writeFile(file, "damaged"));
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`${digest} is damaged`));
    assert.equal(isCopied, false);
  });

  test("a blob whose file is longer than the blob is copied without the other bytes", async () => {
    // An append to the upload while another server commits it leads to this.
    const { code, stderr, isCopied } = await migrateChanged("longer", (file) => appendFile(file, "more"));
    assert.equal(code, 0, stderr);
    assert.equal(isCopied, true);
  });
});
