/** holt images copy, between registries that speak the protocol for real. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { generate } from "selfsigned";
import { createRegistryClient, INDEX, MANIFEST, type RegistryClient } from "../../server/test/harness/registry/registry-client.ts";
import { startWorld, type World } from "../../server/test/harness/world.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";

interface Copied {
  readonly digest: string;
  readonly manifests: number;
  readonly uploaded: number;
  readonly mounted: number;
  readonly present: number;
  readonly bytes: number;
  readonly referrers: number;
}

describe("images copy", () => {
  const world = {} as CommandLineWorld;
  let other: World;
  let registry: RegistryClient;
  let target: RegistryClient;
  let index: { digest: string };
  const layer = randomBytes(300_000);

  before(async () => {
    Object.assign(world, await startCommandLineWorld());
    other = await startWorld();
    await world.holt.must(["login", other.baseUrl, "--token-stdin", "--name", "other"], { input: other.token });
    await world.holt.must(["context", "use", "test"]);
    for (const name of ["copies", "signed"]) await other.group(other.orgUid, name);
    await world.group(world.orgUid, "other");
    registry = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    target = createRegistryClient(other.baseUrl, `Bearer ${other.token}`);
    const images = await Promise.all(
      ["amd64", "arm64"].map(async (architecture) => {
        const config = await registry.blob(
          "my-org/app",
          JSON.stringify({ architecture, os: "linux" }),
          "application/vnd.oci.image.config.v1+json",
        );
        const blob = await registry.blob("my-org/app", layer);
        const image = await registry.manifest("my-org/app", { schemaVersion: 2, mediaType: MANIFEST, config, layers: [blob] });
        return { ...image, platform: { os: "linux", architecture } };
      }),
    );
    index = await registry.manifest("my-org/app", { schemaVersion: 2, mediaType: INDEX, manifests: images }, "1.0");
    const empty = await registry.blob("my-org/app", "{}", "application/vnd.oci.empty.v1+json");
    for (const subject of [index, images[0]])
      await registry.manifest("my-org/app", {
        schemaVersion: 2,
        mediaType: MANIFEST,
        artifactType: "text/x",
        config: empty,
        layers: [empty],
        subject,
      });
  });
  after(async () => {
    registry[Symbol.dispose]();
    target[Symbol.dispose]();
    await other[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  const host = (url: string) => new URL(url).host;
  const copy = (...args: string[]) => world.holt.json<Copied>(["images", "copy", ...args]);

  test("an image is copied to another registry with all its platforms, and a second copy sends nothing", async () => {
    const to = `${host(other.baseUrl)}/my-org/copies/app:2.0`;
    const first = await copy("my-org/app:1.0", to);
    assert.deepEqual([first.digest, first.manifests, first.uploaded, first.mounted, first.referrers], [index.digest, 3, 3, 0, 0]);
    assert.ok(first.bytes > layer.length && first.bytes < layer.length + 1000, "the layer of both platforms is sent once");
    const pulled = await target.send("GET", "my-org/copies/app/manifests/2.0", { headers: { accept: INDEX } });
    assert.equal(pulled.headers["docker-content-digest"], index.digest);
    assert.deepEqual(
      (await target.send("GET", `my-org/copies/app/blobs/${(await registry.blob("my-org/app", layer)).digest}`)).body,
      layer,
    );
    const again = await copy("my-org/app:1.0", to);
    assert.deepEqual([again.manifests, again.uploaded, again.bytes], [0, 0, 0]);
  });

  test("within one registry, layers are taken over instead of sent", async () => {
    const { mounted, uploaded, bytes } = await copy("app:1.0", "my-org/other/app");
    assert.deepEqual([mounted, uploaded, bytes], [3, 0, 0]);
    assert.equal((await registry.send("HEAD", "my-org/other/app/manifests/1.0", { headers: { accept: INDEX } })).status, 200);
  });

  test("an image whose lists are null is copied, as clients in Go write empty lists", async () => {
    const config = await registry.blob("my-org/bare", "{}", "application/vnd.oci.image.config.v1+json");
    const image = { schemaVersion: 2, mediaType: MANIFEST, config, layers: null };
    const { digest } = await registry.manifest("my-org/bare", image, "1.0");
    const copied = await copy("my-org/bare:1.0", `${host(other.baseUrl)}/my-org/copies/bare:1.0`);
    assert.deepEqual([copied.digest, copied.manifests], [digest, 1]);
  });

  test("referrers of the image and of its platforms are copied on request", async () => {
    const { referrers } = await copy("my-org/app:1.0", `${host(other.baseUrl)}/my-org/signed/app`, "--referrers");
    assert.equal(referrers, 2);
    const listed = await target.send("GET", `my-org/signed/app/referrers/${index.digest}`);
    assert.deepEqual(
      (listed.json() as { manifests: { artifactType: string }[] }).manifests.map(({ artifactType }) => artifactType),
      ["text/x"],
    );
  });

  test("an image that does not exist, a wrong digest and a missing login are explained", async () => {
    const missing = await world.holt.run(["images", "copy", "my-org/app:9", "my-org/new"]);
    assert.equal(missing.status, 5, missing.stderr);
    assert.match(missing.stderr, /has no image "9" that you can see/);
    const wrong = await world.holt.run(["images", "copy", "my-org/app:1.0", `my-org/new@sha256:${"1".repeat(64)}`]);
    assert.equal(wrong.status, 2, wrong.stderr);
    await using stranger = await startWorld();
    const denied = await world.holt.run(["images", "copy", "my-org/app:1.0", `${host(stranger.baseUrl)}/my-org/app`]);
    assert.equal(denied.status, 3, denied.stderr);
    assert.match(denied.stderr, /→ log in: .*docker login/);
  });

  test("a copy uses the account of --context, also if another account of the same server is the current one", async () => {
    await world.holt.must(["workload", "create", "my-org", "--name", "without-rights", "--key", "weak.key"]);
    world.clock.catchUp();
    await world.holt.must(["login", world.baseUrl, "--from", "key:weak.key", "--name", "weak"]);
    await world.holt.must(["context", "use", "test"]);
    for (const source of ["my-org/app:1.0", `${host(world.baseUrl)}/my-org/app:1.0`]) {
      const refused = await world.holt.run(["images", "copy", source, "my-org/other/stolen", "--context", "weak"]);
      assert.equal(refused.status, 5, refused.stderr);
    }
  });

  test("the login of docker is used for a registry without a context, and never sent to another host in the clear", async () => {
    await using stranger = await startWorld();
    const config = join(world.holt.folder, ".docker");
    await mkdir(config, { recursive: true });
    const auth = (origin: string) => ({ [host(origin)]: { auth: Buffer.from(`_token:${stranger.token}`).toString("base64") } });
    const fake = createServer((_request, response) =>
      response.writeHead(401, { "www-authenticate": 'Bearer realm="http://attacker.example.com/token"' }).end(),
    );
    await new Promise<void>((resolve) => void fake.listen(0, "127.0.0.1", resolve));
    const fakeHost = `127.0.0.1:${(fake.address() as AddressInfo).port}`;
    await writeFile(join(config, "config.json"), JSON.stringify({ auths: { ...auth(stranger.baseUrl), ...auth(`http://${fakeHost}`) } }));
    assert.equal((await copy("my-org/app:1.0", `${host(stranger.baseUrl)}/my-org/app`)).uploaded, 3);
    const refused = await world.holt.run(["images", "copy", "my-org/app:1.0", `${fakeHost}/my-org/app`]);
    fake.closeAllConnections();
    fake.close();
    assert.match(refused.stderr, /asks for the login at http:\/\/attacker\.example\.com, which is not encrypted/);
  });

  test("another host that a registry redirects to gets no login, whatever it asks for", async () => {
    const { holt } = world;
    const extension = { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] } as const;
    const { private: key, cert } = await generate([{ name: "commonName", value: "test" }], { extensions: [extension] } as never);
    await writeFile(join(holt.folder, "ca.pem"), cert);
    const asked: (string | undefined)[] = [];
    const foreign = createTlsServer({ key, cert }, ({ headers, url }, response) => {
      asked.push(headers.authorization);
      if (url === "/token") response.end(JSON.stringify({ token: "x" }));
      else response.writeHead(401, { "www-authenticate": `Bearer realm="https://${headers.host}/token"` }).end();
    });
    const foreignPort = await portOf(foreign);
    const redirecting = createServer((_request, response) =>
      response.writeHead(307, { location: `https://127.0.0.1:${foreignPort}/blob` }).end(),
    );
    const from = `127.0.0.1:${await portOf(redirecting)}`;
    const config = join(holt.folder, "docker-of-redirect");
    await mkdir(config);
    const auth = Buffer.from("ann:secret").toString("base64");
    await writeFile(join(config, "config.json"), JSON.stringify({ auths: { [from]: { auth } } }));
    const env = { DOCKER_CONFIG: config, NODE_EXTRA_CA_CERTS: join(holt.folder, "ca.pem") };
    const { status, stderr } = await holt.run(["images", "copy", `${from}/app:1.0`, "my-org/redirected"], { env });
    for (const server of [foreign, redirecting]) {
      server.closeAllConnections();
      server.close();
    }
    assert.equal(status, 3, stderr);
    assert.deepEqual(asked, [undefined]);
  });
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
