/**
 * Tests untrusted input: each request gets the specification's error, leaves nothing half-written, and the next push
 * works.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { startServer, type TestServer } from "../harness/harness.ts";
import {
  answerOf,
  CONFIG,
  createRegistryClient,
  digestOf,
  INDEX,
  MANIFEST,
  type RegistryClient,
} from "../harness/registry/registry-client.ts";
import { giveTime, never, until } from "../harness/wait.ts";

const NAME = "my-org/bad";
let server: TestServer;
let client: RegistryClient;
before(async () => {
  server = await startServer();
  client = createRegistryClient(server.baseUrl, `Bearer ${server.token}`);
});
after(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});
afterEach(async () => {
  await client.image("my-org/good", "next");
  assert.equal((await client.send("GET", "my-org/good/manifests/next")).status, 200);
});

const begin = async () => (await client.send("POST", `${NAME}/blobs/uploads/`)).headers.location ?? "";
const put = (reference: string, body: string | Buffer, type = MANIFEST) =>
  client.send("PUT", `${NAME}/manifests/${reference}`, { headers: { "content-type": type }, body });

async function countOf(table: "blob" | "repo_blob" | "manifest" | "upload"): Promise<number> {
  return (await server.store.reader.selectFrom(table).select(server.store.reader.fn.countAll<number>().as("n")).executeTakeFirstOrThrow())
    .n;
}

test("content that does not match its digest is refused in every kind of upload", async () => {
  const wrong = digestOf("other");
  const location = await begin();
  const before = await countOf("blob");
  const answers = [
    await client.send("POST", `${NAME}/blobs/uploads/?digest=${wrong}`, { body: "content" }),
    await client.send("PUT", `${location}?digest=${wrong}`, { body: "content" }),
    await put(wrong, JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [] }), INDEX),
  ];
  for (const { status, code } of answers) assert.deepEqual([status, code], [400, "DIGEST_INVALID"]);
  assert.equal((await client.send("GET", location)).code, "BLOB_UPLOAD_UNKNOWN");
  assert.deepEqual([await countOf("blob"), await countOf("upload")], [before, 0]);
});

test("a manifest whose config's file is lost is refused like one whose config was never pushed", async () => {
  const config = await client.blob(NAME, JSON.stringify({ architecture: "amd64", os: "linux", author: "lost" }), CONFIG);
  const hex = config.digest.slice("sha256:".length);
  rmSync(join(server.dataDir, "blobs", "sha256", hex.slice(0, 2), hex));
  const { status, code } = await put("lost", JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers: [] }));
  assert.deepEqual([status, code], [404, "MANIFEST_BLOB_UNKNOWN"]);
  assert.equal((await client.send("GET", `${NAME}/manifests/lost`)).status, 404);
});

test("the body of every refusal says what is wrong", async () => {
  const location = await begin();
  const range = { "content-range": "5-6" };
  const refusals = [
    [416, "BLOB_UPLOAD_INVALID", client.send("PATCH", location, { headers: range, body: "ab" })],
    [413, "SIZE_INVALID", put("large", `{"a":"${"x".repeat(5 * 1024 * 1024)}"}`)],
    [405, "UNSUPPORTED", client.send("POST", `${NAME}/manifests/a`)],
    [400, "UNSUPPORTED", client.send("GET", "my-org/good/tags/list?n=few")],
    [405, "UNSUPPORTED", client.send("PUT", "/token")],
  ] as const;
  for (const [status, code, sent] of refusals) {
    const answer = await sent;
    const { errors } = answer.json() as { errors: readonly { code: string; message?: string }[] };
    assert.deepEqual([answer.status, errors[0]?.code], [status, code]);
    assert.match(errors[0]?.message ?? "", /^\w+ /, code);
  }
});

test("malformed digests are refused", async () => {
  const tricks = [
    "sha256:abc",
    "sha256:",
    `sha256:${"A".repeat(64)}`,
    `md5:${"a".repeat(32)}`,
    "sha256:..%2f..%2fetc%2fpasswd",
    `sha256:${"a".repeat(65)}`,
  ];
  for (const digest of tricks) {
    for (const [method, path] of [
      ["GET", `${NAME}/blobs/${digest}`],
      ["GET", `${NAME}/manifests/${digest}`],
      ["GET", `${NAME}/referrers/${digest}`],
      ["POST", `${NAME}/blobs/uploads/?digest=${digest}`],
      ["POST", `${NAME}/blobs/uploads/?mount=${digest}&from=my-org/good`],
      ["PUT", `${await begin()}?digest=${digest}`],
    ] as const) {
      const { status, code } = await client.send(method, path);
      assert.ok(
        [400, 404].includes(status) && (code?.endsWith("_INVALID") || code === "NAME_UNKNOWN"),
        `${method} ${path}: ${status} ${code}`,
      );
    }
  }
  assert.equal((await client.send("PUT", await begin(), { body: "x" })).code, "DIGEST_INVALID");
});

test("malformed or malicious names of repositories are refused", async () => {
  const names = [
    "my-org/..",
    "my-org/%2e%2e",
    "../my-org/bad",
    "my-org//bad",
    "my-org/BAD",
    "my-org/-bad",
    "my-org/bad-",
    "my-org/b..ad",
    "my-org/%00",
    "my-org/é",
    "my-org/a b",
  ];
  for (const name of [...names, `my-org/${"a".repeat(2000)}`, "%zz"]) {
    const path = `/v2/${encodeURI(name).replaceAll("%25", "%")}`;
    for (const [method, rest] of [
      ["GET", "manifests/1"],
      ["POST", "blobs/uploads/"],
    ] as const) {
      const { status, code } = await client.send(method, `${path}/${rest}`);
      assert.deepEqual([status, code], [400, "NAME_INVALID"], path.slice(0, 60));
    }
  }
  for (const path of ["single/manifests/1", "_catalogue", "_catalog/x"]) assert.equal((await client.send("GET", path)).status, 404, path);
  for (const reference of ["..", ".hidden", "a".repeat(129), "a%20b"])
    assert.equal(
      (await put(reference, JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [] }), INDEX)).code,
      "MANIFEST_INVALID",
    );
});

test("a chunk out of order is refused with the expected range", async () => {
  const location = await begin();
  const chunk = (range: string, body: string, headers = {}) =>
    client.send("PATCH", location, { headers: { "content-range": range, ...headers }, body });
  assert.equal((await chunk("0-4", "hello")).status, 202);
  for (const range of ["0-4", "6-10", "4-8", "five", "9-5"]) {
    const { status, code, headers } = await chunk(range, "world");
    assert.deepEqual([status, code], [416, "BLOB_UPLOAD_INVALID"]);
    if (/^\d/.test(range) && range !== "9-5") assert.deepEqual([headers.range, headers.location], ["0-4", location]);
  }
  assert.deepEqual(await chunk("5-99", "world").then(({ status, code }) => [status, code]), [400, "SIZE_INVALID"]);
  assert.equal((await chunk("5-9", "world")).status, 202);
  assert.equal((await client.send("PUT", `${location}?digest=${digestOf("helloworld")}`)).status, 201);
});

test("an unknown upload and an upload of another repository are not found", async () => {
  await client.image("my-org/other", "1");
  const uid = (await begin()).split("/").at(-1);
  for (const path of [
    `${NAME}/blobs/uploads/00000000-0000-0000-0000-000000000000`,
    `${NAME}/blobs/uploads/..`,
    `my-org/other/blobs/uploads/${uid}`,
  ]) {
    for (const method of ["GET", "PATCH", "PUT", "DELETE"]) {
      const { status, code } = await client.send(method, `/v2/${path}?digest=${digestOf("x")}`, method === "GET" ? {} : { body: "x" });
      assert.deepEqual([status, code], [404, "BLOB_UPLOAD_UNKNOWN"], `${method} ${path}`);
    }
  }
  assert.equal((await client.send("DELETE", `${NAME}/blobs/uploads/${uid}`)).status, 204);
  assert.equal((await client.send("GET", `${NAME}/blobs/uploads/${uid}`)).status, 404);
});

test("a manifest is refused unless its blobs are in the repository with the sizes that it states", async () => {
  const config = await client.blob(NAME, '{"architecture":"amd64","os":"linux"}', CONFIG);
  const elsewhere = await client.blob("my-org/good", "only there");
  const image = (layers: object[]) => JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers });
  const missing = await put("1", image([elsewhere]));
  assert.deepEqual([missing.status, missing.code], [404, "MANIFEST_BLOB_UNKNOWN"]);
  assert.equal((missing.json() as { errors: { detail: { digest: string } }[] }).errors[0]?.detail.digest, elsewhere.digest);
  const layer = await client.blob(NAME, "layer");
  assert.equal((await put("1", image([{ ...layer, size: 4 }]))).code, "MANIFEST_INVALID");
  assert.equal((await client.send("GET", `${NAME}/manifests/1`)).status, 404);
  // A foreign layer may be missing, and so may the children of an index.
  assert.equal((await put("foreign", image([{ ...layer, digest: digestOf("far"), urls: ["https://example.com/far"] }]))).status, 201);
  const sparse = { schemaVersion: 2, mediaType: INDEX, manifests: [{ mediaType: MANIFEST, digest: digestOf("no"), size: 2 }] };
  assert.equal((await put("sparse", JSON.stringify(sparse), INDEX)).status, 201);
});

test("content that is not a manifest is refused", async () => {
  const config = await client.blob(NAME, "{}", CONFIG);
  const good = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [] };
  const before = await countOf("manifest");
  const bad: [content: string | Buffer, type?: string][] = [
    ["", MANIFEST],
    ["{", MANIFEST],
    ["null", MANIFEST],
    ["[]", MANIFEST],
    [Buffer.from([0x7b, 0xff, 0x7d]), MANIFEST],
    [`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, MANIFEST],
    ['{"schemaVersion":2,"schemaVersion":2,"manifests":[]}', INDEX],
    [JSON.stringify({ ...good, schemaVersion: 1 })],
    [JSON.stringify({ ...good, mediaType: INDEX })],
    [JSON.stringify(good), "application/vnd.docker.distribution.manifest.v1+json"],
    [JSON.stringify(good), "text/plain"],
    [JSON.stringify({ ...good, manifests: [] })],
    [JSON.stringify({ ...good, config: undefined })],
    [JSON.stringify({ ...good, layers: undefined })],
    [JSON.stringify({ ...good, layers: {} })],
    [JSON.stringify({ ...good, layers: [{ ...config, size: -1 }] })],
    [JSON.stringify({ ...good, layers: [{ ...config, size: "2" }] })],
    [JSON.stringify({ ...good, layers: [{ ...config, digest: "sha256:../../x" }] })],
    [JSON.stringify({ ...good, subject: { mediaType: MANIFEST, digest: "x", size: 1 } })],
    [JSON.stringify({ ...good, annotations: { a: 1 } })],
  ];
  for (const [content, type] of bad) {
    const { status, code } = await put("bad", content, type);
    assert.deepEqual([status, code], [400, "MANIFEST_INVALID"], String(content).slice(0, 80));
  }
  const large = JSON.stringify({ ...good, annotations: { pad: "x".repeat(4 * 1024 * 1024) } });
  const { status, code } = await put("bad", large);
  assert.deepEqual([status, code], [413, "SIZE_INVALID"]);
  assert.equal(await countOf("manifest"), before);
  const fits = JSON.stringify({ ...good, annotations: { pad: "x".repeat(4 * 1024 * 1024 - JSON.stringify(good).length - 30) } });
  assert.equal((await put("large", fits)).status, 201);
  assert.equal((await client.send("GET", `${NAME}/manifests/large`)).body.toString(), fits);
});

test("an unsupported method is refused with the supported ones", async () => {
  for (const [method, path] of [
    ["PUT", `${NAME}/tags/list`],
    ["POST", `${NAME}/manifests/1`],
    ["PATCH", `${NAME}/blobs/${digestOf("x")}`],
    ["GET", `${NAME}/blobs/uploads/`],
  ] as const) {
    const { status, code, headers } = await client.send(method, path);
    assert.deepEqual([status, code], [405, "UNSUPPORTED"]);
    assert.ok(headers.allow);
  }
  assert.equal((await client.send("GET", `${NAME}/tags/list?n=-1`)).status, 400);
});

test("an interrupted upload keeps the received bytes and can be resumed", async () => {
  const location = await begin();
  // More than the server keeps in memory, so that the upload shows that it is being received.
  const [half, rest] = ["a".repeat(3_000_000), "b".repeat(3_000_000)];
  const request = client.open("PATCH", location, { "content-length": "6000000" });
  request.on("error", () => {});
  await new Promise<void>((resolve) => request.write(half, () => resolve()));
  const lastByte = async () => Number(String((await client.send("GET", location)).headers.range).split("-")[1]);
  await until(async () => (await lastByte()) > 0);
  request.destroy();
  // Until the server notices the broken connection, the upload belongs to that request.
  await until(async () => {
    const start = (await lastByte()) + 1;
    const headers = { "content-range": `${start}-5999999` };
    return start > 1 && (await client.send("PATCH", location, { headers, body: (half + rest).slice(start) })).status === 202;
  });
  assert.equal((await client.send("PUT", `${location}?digest=${digestOf(half + rest)}`)).status, 201);
});

test("an interrupted single-request push leaves nothing behind", async () => {
  await client.image(NAME, "there");
  const before = [await countOf("blob"), await countOf("upload")];
  const content = "c".repeat(100_000);
  const request = client.open("POST", `${NAME}/blobs/uploads/?digest=${digestOf(content)}`, { "content-length": "200000" });
  request.on("error", () => {});
  await new Promise<void>((resolve) => request.write(content, () => resolve()));
  await giveTime(100);
  request.destroy();
  await until(async () => isDeepStrictEqual([await countOf("blob"), await countOf("upload")], before));
  await never(async () => assert.deepEqual([await countOf("blob"), await countOf("upload")], before));
  assert.equal((await client.send("HEAD", `${NAME}/blobs/${digestOf(content)}`)).status, 404);
});

test("an endless body without the right to push is cut off", async () => {
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(`PATCH /v2/${NAME}/blobs/uploads/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1.1 401 /);
  socket.on("error", () => {});
  const sending = setInterval(() => socket.write("4\r\nmore\r\n"), 100);
  // A connection reset is fine, too.
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(sending);
});

test("a full disk is a server error, and the next push works once there is space", { skip: !mayMount() }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "holt-small-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", folder]);
  try {
    await using small = await startServer({ env: { HOLT_DATA_DIR: folder, HOLT_MIN_FREE_DISK: "0" } });
    using pusher = createRegistryClient(small.baseUrl, `Bearer ${small.token}`);
    const location = (await pusher.send("POST", `${NAME}/blobs/uploads/`)).headers.location ?? "";
    const large = Buffer.alloc(32 * 1024 * 1024, 1);
    for (const [method, path] of [
      ["PATCH", location],
      ["POST", `${NAME}/blobs/uploads/?digest=${digestOf(large)}`],
    ] as const) {
      const request = pusher.open(method, path, { "content-length": String(large.length) });
      request.end(large);
      assert.equal((await answerOf(request)).status, 503, method);
    }
    await pusher.image(NAME, "1");
    assert.equal((await pusher.send("GET", `${NAME}/manifests/1`)).status, 200);
  } finally {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  }
});

function mayMount(): boolean {
  const folder = join(tmpdir(), `holt-mount-${process.pid}`);
  try {
    mkdirSync(folder);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
