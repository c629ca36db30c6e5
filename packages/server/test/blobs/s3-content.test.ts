/** Packages and imports are in the bucket, and parsers read them from temporary files. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Import_State } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { entitleOwner } from "../harness/advisories/entitle-owner.ts";
import { begin, ended, secdbOf } from "../harness/advisories/remote-client.ts";
import { useS3Credentials } from "../harness/blobs/blob-stores.ts";
import { type S3Server, startS3Server } from "../harness/blobs/s3-server.ts";
import { type StoreName, storeNames } from "../harness/harness.ts";
import { sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

async function open(store: StoreName, s3: S3Server): Promise<World> {
  const world = await startWorld({ store, env: { ...s3.env, HOLT_BLOBS: `s3://blobs/${store}` } });
  await entitleOwner(world, world.orgUid);
  return world;
}

for (const store of storeNames) {
  describe(`a server with a bucket on ${store}`, () => {
    let s3: S3Server;
    let world: World;
    let client: RegistryClient;
    before(async () => {
      useS3Credentials();
      s3 = await startS3Server();
      world = await open(store, s3);
      client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    });
    after(async () => {
      client?.[Symbol.dispose]();
      await world?.[Symbol.asyncDispose]();
      await s3[Symbol.asyncDispose]();
    });
    const keysIn = (folder: string) => s3.objects.keys().filter((key) => key.startsWith(`${store}/${folder}/`));

    test("a wheel is read from the bucket when it is published, and downloaded unchanged", async () => {
      await world.group(world.orgUid, "python");
      const file = wheel({ description: "words\n".repeat(1000) });
      const published = await upload(client, "my-org:python", file, { name: "demo", version: "1.0" });
      assert.equal(published.status, 200, published.body.toString());
      const path = `/libraries/python/my-org:python/files/${sha256Of(file.bytes)}/${file.fileName}`;
      assert.ok((await client.send("GET", path)).body.equals(file.bytes));
      assert.ok((await client.send("GET", `${path}.metadata`)).body.toString().includes("words"));
      assert.deepEqual(keysIn("blobs/sha256"), [`${store}/blobs/sha256/${sha256Of(file.bytes)}`]);
      assert.deepEqual(keysIn("uploads"), []);
    });

    test("a file that a client sends in parts waits in the bucket until it is imported", async () => {
      const group = await world.group(world.orgUid, "advisories");
      const uid = await begin(world, group, secdbOf(50), { pieceSize: 1000 });
      const done = await ended(world, uid);
      assert.deepEqual([done.state, done.error], [Import_State.DONE, ""]);
      assert.ok(s3.requests.filter(({ operation, key }) => operation === "PutObject" && key.startsWith(`${store}/imports/`)).length > 2);
      await until(() => keysIn("imports").length === 0);
    });
  });
}
