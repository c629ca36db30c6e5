/** Tests the registry's traffic: ranges, caching, large and slow content, history and events. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { eventData } from "../../src/outbox/event-context.ts";
import { answerOf, createRegistryClient, digestOf, INDEX, MANIFEST, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const NAME = "my-org/traffic";
let world: World;
let client: RegistryClient;
before(async () => {
  world = await startWorld({ env: { HOLT_VENDOR_PROFILE: "chainguard", HOLT_AUDIENCES: "customer" } });
  client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
});
after(async () => {
  client[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

async function eventsOf(type: string, subject?: string) {
  let query = world.store.reader.selectFrom("outbox").selectAll().select(eventData().as("data")).where("type", "=", type).orderBy("seq");
  if (subject !== undefined) query = query.where("subject", "=", subject);
  return (await query.execute()).map((row) => ({ ...row, data: JSON.parse(row.data), extensions: JSON.parse(row.extensions) }));
}

test("a blob can be read by range", async () => {
  const content = randomBytes(1000);
  const { digest } = await client.blob(NAME, content);
  const part = async (range: string, headers = {}) => {
    const answer = await client.send("GET", `${NAME}/blobs/${digest}`, { headers: { range, ...headers } });
    return { status: answer.status, range: answer.headers["content-range"], body: answer.body };
  };
  assert.deepEqual(await part("bytes=0-9"), { status: 206, range: "bytes 0-9/1000", body: content.subarray(0, 10) });
  assert.deepEqual(await part("bytes=990-"), { status: 206, range: "bytes 990-999/1000", body: content.subarray(990) });
  assert.deepEqual(await part("bytes=-5"), { status: 206, range: "bytes 995-999/1000", body: content.subarray(995) });
  assert.deepEqual(await part("bytes=500-99999"), { status: 206, range: "bytes 500-999/1000", body: content.subarray(500) });
  assert.deepEqual(await part("bytes=0-9", { "if-range": `"${digest}"` }), {
    status: 206,
    range: "bytes 0-9/1000",
    body: content.subarray(0, 10),
  });
  for (const range of ["bytes=1000-", "bytes=-0", "bytes=9-1"]) {
    const { status, range: said } = await part(range);
    assert.deepEqual([status, said], [416, "bytes */1000"]);
  }
  for (const whole of [await part("bytes=0-1,5-6"), await part("lines=1-2"), await part("bytes=0-9", { "if-range": '"x"' })])
    assert.deepEqual(whole, { status: 200, range: undefined, body: content });
});

test("content that the client has already is not sent again", async () => {
  const { digest } = await client.image(NAME, "cached");
  const { digest: blob } = await client.blob(NAME, "cached");
  for (const [path, of] of [
    ["manifests/cached", digest],
    [`manifests/${digest}`, digest],
    [`blobs/${blob}`, blob],
  ] as const) {
    const first = await client.send("GET", `${NAME}/${path}`);
    assert.equal(first.headers.etag, `"${of}"`);
    for (const known of [`"${of}"`, `W/"other", "${of}"`, "*"]) {
      const { status, body } = await client.send("GET", `${NAME}/${path}`, { headers: { "if-none-match": known } });
      assert.deepEqual([status, body.length], [304, 0]);
    }
    const other = await client.send("GET", `${NAME}/${path}`, { headers: { "if-none-match": '"other"' } });
    assert.equal(other.status, 200);
  }
  const empty = await client.blob(NAME, "");
  const { status, headers, body } = await client.send("GET", `${NAME}/blobs/${empty.digest}`);
  assert.deepEqual([status, headers["content-length"], body.length], [200, "0", 0]);
});

test("content can be addressed by SHA-512", async () => {
  const content = "sha512 content";
  const digest = digestOf(content, "sha512");
  assert.equal((await client.send("POST", `${NAME}/blobs/uploads/?digest=${digest}`, { body: content })).status, 201);
  assert.equal((await client.send("GET", `${NAME}/blobs/${digest}`)).body.toString(), content);
  const layer = { mediaType: "text/plain", digest, size: content.length };
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config: layer, layers: [layer] });
  const reference = digestOf(manifest, "sha512");
  const put = await client.send("PUT", `${NAME}/manifests/${reference}`, { headers: { "content-type": MANIFEST }, body: manifest });
  assert.deepEqual([put.status, put.headers["docker-content-digest"]], [201, reference]);
  assert.equal((await client.send("GET", `${NAME}/manifests/${reference}`)).body.toString(), manifest);
});

test("an index has the platforms of its children, in whatever order they are pushed", async () => {
  const platform = (architecture: string, variant?: string) => ({ architecture, os: "linux", variant });
  const amd = await client.image("my-org/multi", undefined, { architecture: "amd64" });
  const config = JSON.stringify({ architecture: "arm64", os: "linux", variant: "v8" });
  const layer = Buffer.from("layer of arm64");
  const arm = JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: digestOf(config), size: config.length },
    layers: [{ mediaType: "x/y", digest: digestOf(layer), size: layer.length }],
  });
  const child = { mediaType: MANIFEST, digest: digestOf(arm), size: arm.length, platform: platform("arm64", "v8") };
  const index = await client.manifest(
    "my-org/multi",
    { schemaVersion: 2, mediaType: INDEX, manifests: [{ ...amd, platform: platform("amd64") }, child] },
    "1",
  );
  const nested = await client.manifest("my-org/multi", { schemaVersion: 2, mediaType: INDEX, manifests: [index] });
  await client.blob("my-org/multi", config);
  await client.blob("my-org/multi", layer);
  await client.manifest("my-org/multi", JSON.parse(arm));
  const { repos } = await world.must(ReposService.method.listRepos, { name: "multi" });
  const rows = await world.store.reader
    .selectFrom("image")
    .selectAll()
    .where("repo_uid", "=", repos[0]?.uid ?? "")
    .execute();
  const factsOf = (digest: string) => rows.filter((row) => row.digest === digest).map((row) => [row.architecture, row.variant, row.size]);
  for (const { digest } of [index, nested]) {
    const facts = factsOf(digest).sort();
    assert.deepEqual(
      facts.map((row) => row.slice(0, 2)),
      [
        ["amd64", ""],
        ["arm64", "v8"],
      ],
    );
    assert.equal(facts[1]?.[2], config.length + layer.length);
  }
});

test("a tag's history lists each of its digests, even after the tag is deleted", async () => {
  const digests = [];
  for (let i = 0; i < 3; i++) {
    world.clock.advance(60_000);
    const { digest } = await client.image("my-org/history", "latest");
    digests.push({ time: world.clock.now().toISOString(), digest });
  }
  await client.manifest(
    "my-org/history",
    JSON.parse((await client.send("GET", "my-org/history/manifests/latest")).body.toString()),
    "latest",
  );
  type History = { history: { updateTimestamp: string; digest: string }[] };
  const historyOf = async (query = "", segment = "_holt") =>
    ((await client.send("GET", `my-org/history/${segment}/history/latest${query}`)).json() as History).history;
  const all = digests.map(({ time, digest }) => ({ updateTimestamp: time, digest }));
  assert.deepEqual(await historyOf(), all);
  assert.deepEqual(await historyOf("", "_chainguard"), all);
  assert.deepEqual(await historyOf(`?start=${digests[1]?.time}`), all.slice(1));
  assert.deepEqual(await historyOf(`?end=${digests[1]?.time}`), all.slice(0, 2));
  assert.equal((await client.send("GET", "my-org/history/_holt/history/latest?start=yesterday")).status, 400);
  await client.send("DELETE", "my-org/history/manifests/latest");
  assert.deepEqual(await historyOf(), all);
  const other = await world.http("POST", `/sts/exchange?aud=customer`, undefined, { authorization: `Bearer ${world.token}` });
  const { token } = JSON.parse(other.text) as { token: string };
  using stranger = createRegistryClient(world.baseUrl, `Bearer ${token}`);
  const refused = await stranger.send("GET", "my-org/history/_holt/history/latest");
  assert.deepEqual([refused.status, refused.code], [403, "DENIED"]);
  assert.equal((await stranger.send("GET", "my-org/history/manifests/latest")).status, 401);
});

test("the event of a push is written with its manifest, and that of a pull soon after", async () => {
  const before = await client.image("my-org/told", "1");
  const after = await client.image("my-org/told", "1");
  const { repos } = await world.must(ReposService.method.listRepos, { name: "told" });
  const uid = repos[0]?.uid ?? "";
  assert.equal((await eventsOf("dev.chainguard.api.platform.registry.repo.created.v1", uid)).length, 1);
  const pushes = await eventsOf("dev.chainguard.registry.push.v1", uid);
  assert.equal(pushes.length, 2);
  const host = new URL(world.baseUrl).host;
  const { data, extensions, source, group_uid } = pushes[1]!;
  assert.deepEqual([source, group_uid], [`//${host}`, world.orgUid]);
  assert.deepEqual(extensions, { image: `${host}/my-org/told:1`, digest: `${host}/my-org/told@${after.digest}`, mediatype: MANIFEST });
  assert.equal(data.actor.subject, world.owner.uid);
  const { when, ...body } = data.body;
  assert.match(when, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
  assert.deepEqual(body, {
    repository: "my-org/told",
    repo_id: uid,
    display_name: "told",
    tag: "1",
    tag_previous_digest: before.digest,
    digest: after.digest,
    type: "manifest",
    location: "",
    remote_address: "127.0.0.1",
    user_agent: "",
  });
  const { tags } = await world.must(TagsService.method.listTags, { uidp: { childrenOf: uid } });
  const created = await eventsOf("dev.chainguard.api.platform.registry.tag.created.v1", tags[0]?.uid);
  assert.deepEqual(
    created.map((event) => [event.group_uid, event.data.body.digest, event.body_type]),
    [
      [world.orgUid, before.digest, "chainguard.platform.registry.v2.Tag"],
      [world.orgUid, after.digest, "chainguard.platform.registry.v2.Tag"],
    ],
  );

  await client.send("HEAD", "my-org/told/manifests/1");
  await client.send("GET", `my-org/told/manifests/${after.digest}`);
  await until(async () => (await eventsOf("dev.chainguard.registry.pull.v1", uid)).length >= 2);
  const pulls = (await eventsOf("dev.chainguard.registry.pull.v1", uid)).map(({ data }) => [
    data.body.method,
    data.body.type,
    data.body.tag,
    data.body.digest,
  ]);
  assert.deepEqual(pulls, [
    ["HEAD", "manifest", "1", after.digest],
    ["GET", "manifest", undefined, after.digest],
  ]);
});

test("large content is transferred with little memory", async () => {
  const chunk = randomBytes(1024 * 1024);
  const chunks = 192;
  const hash = createHash("sha256");
  for (let i = 0; i < chunks; i++) hash.update(chunk);
  const digest = `sha256:${hash.digest("hex")}`;
  // Memory in use after garbage collection.
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let most = 0;
  const measure = () => {
    collect();
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  };
  collect();
  const before = process.memoryUsage().arrayBuffers;
  const request = client.open("POST", `${NAME}/blobs/uploads/?digest=${digest}`, { "content-length": String(chunk.length * chunks) });
  for (let i = 0; i < chunks; i++) {
    if (!request.write(chunk)) await once(request, "drain");
    if (i % 32 === 0) measure();
  }
  request.end();
  assert.equal((await answerOf(request)).status, 201);
  const download = client.open("GET", `${NAME}/blobs/${digest}`);
  download.end();
  const [response] = await once(download, "response");
  let received = 0;
  for await (const part of response) {
    if (Math.floor(received / 2 ** 25) !== Math.floor((received + part.length) / 2 ** 25)) measure();
    received += part.length;
  }
  assert.equal(received, chunk.length * chunks);
  assert.ok(most - before < 48 * 1024 * 1024, `${(most - before) >> 20} MB`);
});

test("the registry is served over HTTP/2, and an interrupted upload can be resumed there", async () => {
  const session = connectHttp2(world.baseUrl);
  const call = async (headers: Record<string, string>, body?: string) => {
    const stream = session.request({ authorization: `Bearer ${world.token}`, ...headers });
    stream.end(body);
    const [answer] = await once(stream, "response");
    let text = "";
    for await (const part of stream) text += part;
    return { status: answer[":status"], location: answer.location, text };
  };
  const { location } = await call({ ":method": "POST", ":path": `/v2/${NAME}/blobs/uploads/` });
  assert.equal((await call({ ":method": "PATCH", ":path": location }, "over ")).status, 202);
  const digest = digestOf("over http2");
  assert.equal((await call({ ":method": "PUT", ":path": `${location}?digest=${digest}` }, "http2")).status, 201);
  assert.equal((await call({ ":method": "GET", ":path": `/v2/${NAME}/blobs/${digest}` })).text, "over http2");
  assert.equal((await call({ ":method": "HEAD", ":path": `/v2/${NAME}/blobs/${digest}` })).text, "");
  assert.equal((await call({ ":method": "GET", ":path": `/v2/${NAME}/manifests/none` })).status, 404);

  const { location: broken } = await call({ ":method": "POST", ":path": `/v2/${NAME}/blobs/uploads/` });
  // More than the server keeps in memory, so that the upload shows that it is being received.
  const half = "broken ".repeat(200_000);
  const whole = digestOf(`${half}off`);
  const stream = session.request({ authorization: `Bearer ${world.token}`, ":method": "PUT", ":path": `${broken}?digest=${whole}` });
  stream.on("error", () => {});
  await new Promise((resolve) => stream.write(half, resolve));
  const range = async () => String((await client.send("GET", String(broken))).headers.range);
  await until(async () => Number((await range()).split("-")[1]) > 0);
  stream.destroy();
  // Until the server notices the broken connection, the upload belongs to that request.
  const finish = async () => {
    const start = Number((await range()).split("-")[1]) + 1;
    const missing = `${half}off`.slice(start);
    // The range makes the server refuse the bytes if the broken request has stored more in the meantime.
    const headers = { ":method": "PUT", ":path": `${broken}?digest=${whole}`, "content-range": `${start}-${start + missing.length - 1}` };
    return call(headers, missing);
  };
  // A request that is refused before its body was read may be reset.
  await until(async () => (await finish().catch(() => undefined))?.status === 201);
  session.close();
});
