/** Content whose file is gone is reported as missing, and the next push or publication stores it again. */
import assert from "node:assert/strict";
import { readdir, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { upload, wheel } from "../harness/libraries/python-packages.ts";
import {
  type Answer,
  basic,
  CONFIG,
  createRegistryClient,
  digestOf,
  MANIFEST,
  type RegistryClient,
} from "../harness/registry/registry-client.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
let client: RegistryClient;
before(async () => {
  world = await startWorld();
  client = createRegistryClient(world.baseUrl, basic("_token", world.token));
});
after(async () => {
  client[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

const fileOf = (digest: string) => {
  const [algorithm = "", hex = ""] = digest.split(":");
  return join(world.dataDir, "blobs", algorithm, hex.slice(0, 2), hex);
};
const blob = (method: string, name: string, digest: string) => client.send(method, `${name}/blobs/${digest}`);
const statusAndCode = ({ status, code }: Answer) => [status, code];

for (const [title, damage] of [
  ["gone", (digest: string) => rm(fileOf(digest))],
  ["too short", (digest: string) => truncate(fileOf(digest), 3)],
] as const) {
  test(`HEAD does not find a blob whose file is ${title}, and pushing it again repairs it`, async () => {
    const name = `my-org/head-${title.replace(" ", "-")}`;
    const content = `layer ${title}`;
    const { digest } = await client.blob(name, content);
    await damage(digest);
    assert.equal((await blob("HEAD", name, digest)).status, 404);
    await client.blob(name, content);
    assert.equal((await blob("HEAD", name, digest)).status, 200);
    assert.equal((await blob("GET", name, digest)).body.toString(), content);
  });
}

test("GET of a blob whose file is gone answers 404", async () => {
  const { digest } = await client.blob("my-org/get", "gone");
  await rm(fileOf(digest));
  assert.deepEqual(statusAndCode(await blob("GET", "my-org/get", digest)), [404, "BLOB_UNKNOWN"]);
});

test("a blob whose file is gone is not mounted, so that the client uploads it", async () => {
  const { digest } = await client.blob("my-org/source", "to be mounted");
  await rm(fileOf(digest));
  const mount = () => client.send("POST", `my-org/target/blobs/uploads/?mount=${digest}&from=my-org/source`);
  assert.equal((await mount()).status, 202);
  await client.blob("my-org/target", "to be mounted");
  assert.equal((await blob("GET", "my-org/source", digest)).status, 200);
  assert.equal((await mount()).status, 201);
});

test("a manifest that refers to a blob whose file is gone is refused until the blob is pushed again", async () => {
  const name = "my-org/manifest";
  const config = await client.blob(name, JSON.stringify({ architecture: "amd64", os: "linux" }), CONFIG);
  const layer = await client.blob(name, "a layer of a manifest");
  const content = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] });
  const push = () => client.send("PUT", `${name}/manifests/${digestOf(content)}`, { headers: { "content-type": MANIFEST }, body: content });
  await rm(fileOf(layer.digest));
  const refused = await push();
  assert.deepEqual(statusAndCode(refused), [404, "MANIFEST_BLOB_UNKNOWN"]);
  assert.ok(refused.body.toString().includes(layer.digest));
  await client.blob(name, "a layer of a manifest");
  assert.equal((await push()).status, 201);
});

test("HEAD does not find a manifest whose layer is gone, so that a client that copies the image pushes it again", async () => {
  const name = "my-org/head-manifest";
  const config = await client.blob(name, JSON.stringify({ architecture: "amd64", os: "linux" }), CONFIG);
  const layer = await client.blob(name, "a layer that HEAD looks at");
  const content = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] });
  await client.send("PUT", `${name}/manifests/1.0`, { headers: { "content-type": MANIFEST }, body: content });
  const heads = async () =>
    (await Promise.all(["1.0", digestOf(content)].map((reference) => client.send("HEAD", `${name}/manifests/${reference}`)))).map(
      ({ status }) => status,
    );
  assert.deepEqual(await heads(), [200, 200]);
  await rm(fileOf(layer.digest));
  assert.deepEqual(await heads(), [404, 404]);
  assert.equal((await client.send("GET", `${name}/manifests/1.0`)).status, 200);
  await client.blob(name, "a layer that HEAD looks at");
  assert.deepEqual(await heads(), [200, 200]);
});

test("a library's file whose bytes are gone answers 404, and publishing it again repairs it", async () => {
  await world.group(world.orgUid, "lost-python");
  const path = "/libraries/python/my-org:lost-python";
  const built = wheel({});
  const publish = () => upload(client, "my-org:lost-python", built, { name: "Demo", version: "1.0" });
  const digestsBefore = await storedFiles();
  assert.equal((await publish()).status, 200);
  const [stored = ""] = (await storedFiles()).filter((file) => !digestsBefore.includes(file));
  const file = `${path}/files/${stored.split("/").at(-1)}/${built.fileName}`;
  await rm(stored);
  for (const method of ["HEAD", "GET"]) assert.equal((await client.send(method, file)).status, 404, method);
  assert.equal((await publish()).status, 200);
  for (const method of ["HEAD", "GET"]) assert.equal((await client.send(method, file)).status, 200, method);
});

async function storedFiles(): Promise<string[]> {
  const entries = await readdir(join(world.dataDir, "blobs"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}
