/** Tests that the challenge of the registry names the access that the request needs, so that one more token is enough. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { startWorld, type World } from "../harness/world.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
let world: World;
let owner: RegistryClient;
const clients: RegistryClient[] = [];
before(async () => {
  world = await startWorld();
  owner = as(`Bearer ${world.token}`);
});
after(async () => {
  for (const client of clients) client[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

function as(authorization: string | undefined): RegistryClient {
  const client = createRegistryClient(world.baseUrl, authorization);
  clients.push(client);
  return client;
}

async function tokenFor(...scopes: string[]): Promise<string> {
  const query = new URLSearchParams(scopes.map((scope): [string, string] => ["scope", scope]));
  const answer = await as(basic("_token", world.token)).send("GET", `/token?${query}`);
  return (answer.json() as { token: string }).token;
}

async function challengeOf(client: RegistryClient, method: string, path: string) {
  const { status, headers } = await client.send(method, path);
  assert.equal(status, 401, `${method} ${path}`);
  const challenge = String(headers["www-authenticate"]);
  return { scope: /scope="([^"]*)"/.exec(challenge)?.[1], error: /error="([^"]*)"/.exec(challenge)?.[1] };
}

test("the challenge of an upload asks for push with every method", async () => {
  const nobody = as(undefined);
  const upload = "my-org/up/blobs/uploads/8d1b0c1e-0000-0000-0000-000000000000";
  for (const method of ["GET", "HEAD", "PATCH", "PUT", "DELETE"])
    assert.deepEqual(await challengeOf(nobody, method, upload), { scope: "repository:my-org/up:pull,push", error: undefined }, method);
});

test("the challenge of a mount also asks for pull of the source", async () => {
  const path = `my-org/target/blobs/uploads/?mount=${DIGEST}&from=my-org/source`;
  const { scope } = await challengeOf(as(undefined), "POST", path);
  assert.equal(scope, "repository:my-org/target:pull,push repository:my-org/source:pull");
});

test("the source of a mount cannot break out of the challenge", async () => {
  const path = `my-org/target/blobs/uploads/?mount=${DIGEST}&from=${encodeURIComponent('x",realm="https://evil.example')}`;
  assert.equal((await challengeOf(as(undefined), "POST", path)).scope, "repository:my-org/target:pull,push");
});

test("a token whose scope lacks the source of a mount is challenged for both repositories, and the next token mounts", async () => {
  const layer = await owner.blob("my-org/origin", "shared layer");
  const path = `my-org/copy/blobs/uploads/?mount=${layer.digest}&from=my-org/origin`;
  const first = as(`Bearer ${await tokenFor("repository:my-org/copy:pull,push")}`);
  const { scope, error } = await challengeOf(first, "POST", path);
  assert.deepEqual([scope, error], ["repository:my-org/copy:pull,push repository:my-org/origin:pull", "insufficient_scope"]);
  const second = as(`Bearer ${await tokenFor(scope ?? "")}`);
  const mounted = await second.send("POST", path);
  assert.deepEqual([mounted.status, mounted.headers["docker-content-digest"]], [201, layer.digest]);
});

test("a token for pull is challenged for the action that is missing", async () => {
  await owner.image("my-org/app", "1");
  const { location } = (await owner.send("POST", "my-org/app/blobs/uploads/")).headers;
  const puller = as(`Bearer ${await tokenFor("repository:my-org/app:pull")}`);
  for (const [method, path, scope] of [
    ["GET", location ?? "", "repository:my-org/app:pull,push"],
    ["DELETE", location ?? "", "repository:my-org/app:pull,push"],
    ["DELETE", "my-org/app/manifests/1", "repository:my-org/app:pull,delete"],
    ["PUT", "my-org/app/manifests/1", "repository:my-org/app:pull,push"],
  ] as const)
    assert.deepEqual(await challengeOf(puller, method, path), { scope, error: "insufficient_scope" }, `${method} ${path}`);
});
