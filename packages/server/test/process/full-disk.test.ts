/** A server whose disk is nearly full refuses what stores content, and serves everything else. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { basic, createRegistryClient, digestOf } from "../harness/registry/registry-client.ts";

/** More than any disk has. */
const ALL = String(Number.MAX_SAFE_INTEGER);

async function post(url: string, path: string, body: object, token: string) {
  const answer = await fetch(url + path, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(body) });
  return {
    status: answer.status,
    retryAfter: answer.headers.get("retry-after"),
    json: (await answer.json()) as { uid: string; code: number; message: string },
  };
}

async function assertReadOnly(settings: Settings): Promise<void> {
  let group = "";
  let token = "";
  {
    await using server = await startHoltd(settings);
    token = await printedToken(settings);
    const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
    const org = (json as { groups: { uid: string }[] }).groups[0]?.uid;
    group = (await post(server.baseUrl, `/iam/v2/groups/${org}`, { name: "folder" }, token)).json.uid;
    using client = createRegistryClient(server.baseUrl, basic("_token", token));
    await client.image("my-org/app", "v1");
    assert.equal(await (await fetch(`${server.baseUrl}/readyz`)).text(), "ok\n");
    server.kill("SIGTERM");
    await server.ended;
  }
  await using server = await startHoltd({ ...settings, HOLT_MIN_FREE_DISK: ALL });
  const { baseUrl: url } = server;
  const refused = await post(url, `/iam/v2/groups/${group}`, { name: "another" }, token);
  assert.deepEqual([refused.status, refused.json.code], [503, 14]);
  assert.match(refused.json.message, /the server's disk is nearly full: \d+ MB are free/);
  assert.ok(Number(refused.retryAfter) > 0);
  using client = createRegistryClient(url, basic("_token", token));
  const upload = await client.send("POST", "my-org/app/blobs/uploads/");
  assert.equal(upload.status, 503);
  assert.match(upload.body.toString(), /nearly full/);

  assert.equal((await get(url, `/iam/v2/groups/${group}`, token)).status, 200);
  assert.equal((await client.send("GET", "my-org/app/manifests/v1")).status, 200);
  const ready = await fetch(`${url}/readyz`);
  assert.equal(ready.status, 200);
  assert.match(await ready.text(), /^ok, but the server's disk is nearly full/);
  assert.equal(
    (await fetch(`${url}/iam/v2/groups/${group}`, { method: "DELETE", headers: { authorization: `Bearer ${token}` } })).status,
    200,
  );
  assert.equal((await client.send("DELETE", "my-org/app/manifests/v1")).status, 202);
  assert.equal((await runHoltd(["gc"], settings)).code, 0);
}

test("a nearly full disk refuses writes on SQLite, and reads, deletions and collection go on", async () => {
  await using folder = await temporaryFolder();
  await assertReadOnly({ HOLT_DATA_DIR: join(folder.path, "data"), HOLT_LISTEN: `127.0.0.1:${await freePort()}` });
});

test("a nearly full disk refuses writes on PostgreSQL, and reads, deletions and collection go on", async () => {
  await using folder = await temporaryFolder();
  const HOLT_DATABASE_URL = await createMigratedDatabase();
  await assertReadOnly({ HOLT_DATA_DIR: join(folder.path, "data"), HOLT_DATABASE_URL, HOLT_LISTEN: `127.0.0.1:${await freePort()}` });
});

test("an upload that would leave too little space is refused before it is sent, and a smaller one is stored", async () => {
  await using folder = await temporaryFolder();
  const { bavail, bsize } = await statfs(folder.path);
  // Others may use the disk meanwhile, so the margin is half of it.
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_LISTEN: `127.0.0.1:${await freePort()}` };
  await using server = await startHoltd({ ...settings, HOLT_MIN_FREE_DISK: String(Math.floor((bavail * bsize) / 2)) });
  using client = createRegistryClient(server.baseUrl, basic("_token", await printedToken(settings)));
  await client.image("my-org/app", "v1");
  const content = randomBytes(1000);
  const path = `my-org/app/blobs/uploads/?digest=${digestOf(content)}`;
  const request = client.open("POST", path, { "content-length": String(bavail * bsize) });
  request.flushHeaders();
  const status = await new Promise<number | undefined>((resolve, reject) => {
    request.once("error", reject).once("response", (response) => resolve(response.statusCode));
  });
  request.destroy();
  assert.equal(status, 503);
  assert.equal((await client.send("POST", path, { body: content })).status, 201);
});
