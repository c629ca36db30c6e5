/** Servers scan images: one is killed during a scan, and one has scanning turned off. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type RunningServer, runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { APK, apkDatabase, layerOf } from "../harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, LAYER, MANIFEST, type RegistryClient } from "../harness/registry/registry-client.ts";
import { never, until } from "../harness/wait.ts";

const LAYER_BYTES = 200 * 1024 * 1024;
/** Each with an image of its own. */
const MAX_KILLS = 5;

async function clientOf({ baseUrl }: RunningServer, settings: Settings): Promise<{ client: RegistryClient; token: string }> {
  const { stdout } = await runHoltd(["token"], { ...settings, HOLT_BASE_URL: baseUrl });
  const token = stdout.trim();
  return { client: createRegistryClient(baseUrl, basic("_token", token)), token };
}

/** Pushes the image into a repo that the push creates. */
async function pushImage(client: RegistryClient, layer: Buffer): Promise<{ digest: string }> {
  const name = "my-org/app";
  const config = await client.blob(name, JSON.stringify({ architecture: "amd64", os: "linux" }), CONFIG);
  const layers = [await client.blob(name, layer, LAYER)];
  return client.manifest(name, { schemaVersion: 2, mediaType: MANIFEST, config, layers });
}

interface Listed {
  readonly state: string;
  readonly packages?: readonly { readonly name: string }[];
}

async function list({ baseUrl }: RunningServer, token: string, digest: string): Promise<Listed> {
  const get = async (path: string) => {
    const answer = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    return (await answer.json()) as never;
  };
  const { repos } = (await get("/registry/v2/repos")) as { repos?: { uid: string }[] };
  const uid = repos?.[0]?.uid ?? "";
  return get(`/holt/v1/repos/${uid}/digests/${digest}/packages`);
}

async function untilRead(server: RunningServer, token: string, digest: string): Promise<Listed> {
  let found = await list(server, token, digest);
  await until(async () => {
    found = await list(server, token, digest);
    return found.state !== "STATE_PENDING";
  });
  return found;
}

/** Pushes an image and kills the server at once. @returns the state of the image's scan */
async function pushAndKill(settings: Settings & { readonly HOLT_DATA_DIR: string }, layer: Buffer) {
  await using server = await startHoltd(settings);
  const { client } = await clientOf(server, settings);
  const { digest } = await pushImage(client, layer);
  // No other call comes between: on a busy machine the scan could be done by then.
  server.kill("SIGKILL");
  await server.ended;
  client[Symbol.dispose]();
  using database = new DatabaseSync(join(settings.HOLT_DATA_DIR, "holt.db"), { readOnly: true });
  return { digest, state: database.prepare("select state from image_scan where digest = ?").get(digest)?.state };
}

test("the next server reads an image whose scan was interrupted by a kill", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  let [digest, state]: [string, unknown] = ["", undefined];
  // A scan takes longer than the answer to the push, but this process may pause before it kills the server.
  for (let attempt = 0; attempt < MAX_KILLS && state !== "pending"; attempt++) {
    const layer = await layerOf({ "usr/zeros": Buffer.alloc(LAYER_BYTES + attempt), [APK]: apkDatabase("musl 1.2.5-r9") });
    ({ digest, state } = await pushAndKill(settings, layer));
  }
  assert.equal(state, "pending");
  await using second = await startHoltd(settings);
  const { client, token } = await clientOf(second, settings);
  const found = await untilRead(second, token, digest);
  assert.deepEqual([found.state, found.packages?.map(({ name }) => name)], ["STATE_DONE", ["musl"]]);
  client[Symbol.dispose]();
});

test("a server with scanning turned off leaves images to another server", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_IMAGE_PACKAGES: "off" };
  let digest = "";
  {
    await using first = await startHoltd(settings);
    const { client, token } = await clientOf(first, settings);
    digest = (await pushImage(client, await layerOf({ [APK]: apkDatabase("musl 1.2.5-r9") }))).digest;
    await never(async () => assert.equal((await list(first, token, digest)).state, "STATE_PENDING"));
    client[Symbol.dispose]();
  }
  await using second = await startHoltd({ ...settings, HOLT_IMAGE_PACKAGES: "on" });
  const { client, token } = await clientOf(second, settings);
  assert.equal((await untilRead(second, token, digest)).state, "STATE_DONE");
  client[Symbol.dispose]();
  const { code, stderr } = await runHoltd(["gc"], { ...settings, HOLT_IMAGE_PACKAGES: "yes" });
  assert.equal(code, 2);
  assert.match(stderr, /HOLT_IMAGE_PACKAGES: "yes" must be on or off/);
});
