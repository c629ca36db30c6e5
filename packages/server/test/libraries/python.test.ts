/** Python packages on both stores, with a test client: publishing, pages, files, access, yanking and deletion. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { createFilesystemBlobs } from "../../src/blobs/filesystem.ts";
import { blobReferences } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import { createCollector } from "../../src/registry/collection/gc.ts";
import { createUploads } from "../../src/registry/content/uploads.ts";
import { metadataText, sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { type Answer, basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { CAP_LIBRARIES_PYTHON_LIST: LIST, CAP_LIBRARIES_PYTHON_CREATE: CREATE } = Capability;
const JSON_TYPE = "application/vnd.pypi.simple.v1+json";
const GRACE_MS = 3_600_000;

interface Page {
  readonly meta: object;
  readonly name: string;
  readonly versions: string[];
  readonly files: (Record<string, unknown> & { filename: string; url: string; yanked: unknown })[];
}

describeWithWorld("Python packages", (world: World) => {
  const clients: RegistryClient[] = [];
  after(() => {
    for (const client of clients) client[Symbol.dispose]();
  });
  function as(authorization: string | undefined): RegistryClient {
    const client = createRegistryClient(world.baseUrl, authorization);
    clients.push(client);
    return client;
  }
  const owner = () => as(basic("_token", world.token));
  let groups = 0;
  /** Creates a library for one test. Returns the uid of its group and its path. */
  async function library(): Promise<{ group: string; path: string }> {
    const name = `python-${groups++}`;
    return { group: await world.group(world.orgUid, name), path: `/libraries/python/my-org:${name}` };
  }
  const ownerOf = (path: string) => path.split("/").at(-1) ?? "";
  const pageOf = async (client: RegistryClient, path: string, project = "demo"): Promise<Page> => {
    const answer = await client.send("GET", `${path}/simple/${project}/`, { headers: { accept: JSON_TYPE } });
    assert.equal(answer.status, 200, answer.body.toString());
    return answer.json();
  };
  const fileUrl = (path: string, project: string, { url }: { url: string }) =>
    new URL(url, `http://holt.test${path}/simple/${project}/`).pathname;
  const must = (answer: Answer, status = 200) => assert.equal(answer.status, status, answer.body.toString());

  test("a wheel and a source distribution are published, listed in both formats and downloaded unchanged", async () => {
    const { path } = await library();
    const client = owner();
    const headers = ["Summary: Shows <things>", "Requires-Python: >=3.8, <4"];
    const built = wheel({ headers, description: "words\n".repeat(100) });
    const source = await sdist({ headers });
    for (const file of [built, source]) must(await upload(client, ownerOf(path), file, { name: "Demo", version: "1.0.0" }));

    const page = await pageOf(client, path);
    assert.deepEqual([page.meta, page.name, page.versions], [{ "api-version": "1.4" }, "demo", ["1.0"]]);
    const metadata = metadataText({ headers, description: "words\n".repeat(100) });
    const [first, second] = page.files;
    assert.deepEqual(first, {
      filename: built.fileName,
      url: `../../files/${sha256Of(built.bytes)}/${built.fileName}`,
      hashes: { sha256: sha256Of(built.bytes) },
      "requires-python": ">=3.8, <4",
      size: built.bytes.length,
      "upload-time": first?.["upload-time"],
      yanked: false,
      "core-metadata": { sha256: sha256Of(metadata) },
      "dist-info-metadata": { sha256: sha256Of(metadata) },
    });
    assert.match(String(first?.["upload-time"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
    assert.deepEqual([second?.filename, second?.["core-metadata"]], [source.fileName, false]);

    const html = (await client.send("GET", `${path}/simple/demo/`)).body.toString();
    const hash = `sha256=${sha256Of(metadata)}`;
    const link = `<a href="../../files/${sha256Of(built.bytes)}/${built.fileName}#sha256=${sha256Of(built.bytes)}" data-requires-python="&gt;=3.8, &lt;4" data-core-metadata="${hash}" data-dist-info-metadata="${hash}">${built.fileName}</a>`;
    assert.ok(html.includes(link), html);
    assert.ok(html.includes('<meta name="pypi:repository-version" content="1.4">'));

    for (const [file, type] of [
      [built, "application/zip"],
      [source, "application/gzip"],
    ] as const) {
      const answer = await client.send("GET", `${path}/files/${sha256Of(file.bytes)}/${file.fileName}`);
      must(answer);
      assert.ok(answer.body.equals(file.bytes));
      assert.equal(answer.headers["content-type"], type);
    }
    const url = fileUrl(path, "demo", first!);
    const alone = await client.send("GET", `${url}.metadata`);
    assert.deepEqual([alone.status, alone.body.toString()], [200, metadata]);
    const head = await client.send("HEAD", `${url}.metadata`);
    assert.deepEqual([head.status, head.headers["content-length"]], [200, String(metadata.length)]);
    assert.equal((await client.send("GET", `${fileUrl(path, "demo", second!)}.metadata`)).status, 404);
  });

  test("a WHEEL file may spell the tags of the file name differently, or have none", async () => {
    const { path } = await library();
    for (const [tags, lines] of [
      ["py2.py3-none-any", ["Tag: py3-none-any", "Tag: py2-none-any"]],
      ["cp312-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64", ["Tag: cp312-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64"]],
      ["7-cp311-cp311-Win_AMD64", ["tag:cp311-cp311-win_amd64", "Build: 8", "TAG : cp311-cp311-win_amd64", "", "what follows"]],
      ["cp310-cp310-win32", ["Generator: nobody", "no field", "Tag:"]],
    ] as const)
      must(await upload(owner(), ownerOf(path), wheel({ tags, wheel: lines })));
    assert.equal((await pageOf(owner(), path)).files.length, 4);
  });

  test("files support ranges and conditional requests", async () => {
    const { path } = await library();
    const client = owner();
    const { fileName, bytes } = wheel();
    must(await upload(client, ownerOf(path), { fileName, bytes }));
    const url = `${path}/files/${sha256Of(bytes)}/${fileName}`;
    const etag = `"${sha256Of(bytes)}"`;
    const get = (headers: Record<string, string>, method = "GET") => client.send(method, url, { headers });
    const part = await get({ range: "bytes=10-19" });
    assert.deepEqual([part.status, part.headers["content-range"]], [206, `bytes 10-19/${bytes.length}`]);
    assert.ok(part.body.equals(bytes.subarray(10, 20)));
    assert.ok((await get({ range: "bytes=-5", "if-range": etag })).body.equals(bytes.subarray(-5)));
    assert.equal((await get({ range: "bytes=0-1", "if-range": '"other"' })).status, 200);
    const beyond = await get({ range: `bytes=${bytes.length}-` });
    assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, `bytes */${bytes.length}`]);
    const whole = await get({});
    assert.equal(whole.headers.etag, etag);
    assert.match(whole.headers["cache-control"] ?? "", /^private, .*immutable$/);
    assert.equal((await get({ "if-none-match": etag })).status, 304);
    const head = await get({}, "HEAD");
    assert.deepEqual([head.status, head.headers["content-length"], head.body.length], [200, String(bytes.length), 0]);
    for (const other of [
      `${path}/files/${sha256Of("other")}/${fileName}`,
      `${path}/files/${sha256Of(bytes)}/other-1.0-py3-none-any.whl`,
      `${path}/files/x/..%2f..%2fetc%2fpasswd`,
    ])
      assert.equal((await client.send("GET", other)).status, 404);
  });

  test("the same bytes change nothing, and other bytes under the same name are refused", async () => {
    const { path, group } = await library();
    const client = owner();
    must(await upload(client, ownerOf(path), wheel()));
    const before = await client.send("GET", `${path}/simple/demo/`);
    must(await upload(client, ownerOf(path), wheel()));
    const other = await upload(client, ownerOf(path), wheel({ code: "other" }));
    assert.equal(other.status, 409);
    assert.match(other.body.toString(), /other bytes/);
    const after = await client.send("GET", `${path}/simple/demo/`);
    assert.deepEqual([after.headers.etag, after.body], [before.headers.etag, before.body]);
    const events = await world.store.reader.selectFrom("outbox").select("type").where("group_uid", "=", group).orderBy("seq").execute();
    assert.equal(events.filter(({ type }) => type === "dev.holt.libraries.push.v1").length, 1);
  });

  test("concurrent uploads of the same file publish it once", async () => {
    const { path } = await library();
    const client = owner();
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(client, ownerOf(path), wheel())));
    for (const answer of answers) must(answer);
    assert.equal((await pageOf(client, path)).files.length, 1);
  });

  test("a page has the content type that its client prefers", async () => {
    const { path } = await library();
    const client = owner();
    must(await upload(client, ownerOf(path), wheel()));
    for (const [accept, status, type] of [
      [undefined, 200, "text/html; charset=utf-8"],
      ["*/*", 200, "text/html; charset=utf-8"],
      [`${JSON_TYPE}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01`, 200, JSON_TYPE],
      ["application/vnd.pypi.simple.v1+html", 200, "application/vnd.pypi.simple.v1+html"],
      ["application/vnd.pypi.simple.latest+json", 200, JSON_TYPE],
      [`text/html;q=0.5, ${JSON_TYPE};q=0.4`, 200, "text/html; charset=utf-8"],
      ["application/vnd.pypi.simple.v2+json", 406, "text/plain; charset=utf-8"],
    ] as const) {
      for (const page of ["simple/", "simple/demo/"]) {
        const answer = await client.send("GET", `${path}/${page}`, { headers: accept === undefined ? {} : { accept } });
        assert.deepEqual([answer.status, answer.headers["content-type"]], [status, type], accept);
        assert.match(answer.headers.vary ?? "", /Accept/);
      }
    }
  });

  test("a page is not sent again while nothing changes", async () => {
    const { path } = await library();
    const client = owner();
    must(await upload(client, ownerOf(path), wheel()));
    const etag = (await client.send("GET", `${path}/simple/demo/`)).headers.etag ?? "";
    const again = () => client.send("GET", `${path}/simple/demo/`, { headers: { "if-none-match": etag } });
    assert.equal((await again()).status, 304);
    must(await upload(client, ownerOf(path), wheel({ version: "1.1" })));
    assert.equal((await again()).status, 200);
  });

  test("all projects are listed, and other spellings of a name redirect to the project", async () => {
    const { path } = await library();
    const client = owner();
    for (const name of ["My.Pkg", "another"]) must(await upload(client, ownerOf(path), wheel({ name })));
    const { projects } = (await client.send("GET", `${path}/simple/`, { headers: { accept: JSON_TYPE } })).json() as {
      projects: object[];
    };
    assert.deepEqual(projects, [{ name: "another" }, { name: "my-pkg" }]);
    assert.match((await client.send("GET", `${path}/simple/`)).body.toString(), /<a href="my-pkg\/">my-pkg<\/a>/);
    for (const [from, location] of [
      ["simple", "simple/"],
      ["simple/My_Pkg/", "../my-pkg/"],
      ["simple/My_Pkg", "my-pkg/"],
      ["simple/my-pkg", "my-pkg/"],
    ]) {
      const answer = await client.send("GET", `${path}/${from}`);
      assert.deepEqual([answer.status, answer.headers.location], [301, location], from);
    }
    assert.equal((await client.send("GET", `${path}/simple/missing/`)).status, 404);
    const respelled = await upload(client, ownerOf(path), wheel({ name: "my-pkg", version: "2.0" }));
    assert.equal(respelled.status, 400);
    assert.match(respelled.body.toString(), /"My\.Pkg"/);
  });

  test("the catalogue orders versions, and knows CUDA versions and remediated versions", async () => {
    const { path, group } = await library();
    const client = owner();
    const classifier = "Classifier: Environment :: GPU :: NVIDIA CUDA :: 11.8";
    for (const version of ["1.10", "1.9", "2.0rc1", "1.10+cu121", "1.9+holt.1"])
      must(await upload(client, ownerOf(path), wheel({ version, headers: [`Summary: is ${version}`] })));
    must(await upload(client, ownerOf(path), wheel({ name: "other", headers: [classifier] })));
    const list = async (filter: object) => {
      const { artifacts } = await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [Ecosystem.PYTHON], ...filter });
      return artifacts.filter(({ uid }) => uid.startsWith(group)).map(({ name, latestVersion }) => `${name} ${latestVersion}`);
    };
    assert.deepEqual(await list({}), ["demo 1.10+cu121", "other 1.0"]);
    assert.deepEqual(await list({ remediated: true }), ["demo 1.10+cu121"]);
    assert.deepEqual(await list({ cudaVersion: "12.1" }), ["demo 1.10+cu121"]);
    assert.deepEqual(await list({ cudaVersion: "11.8" }), ["other 1.0"]);
    assert.deepEqual((await pageOf(client, path)).versions, ["1.9", "1.9+holt.1", "1.10", "1.10+cu121", "2.0rc1"]);
  });

  test("a yanked version is marked with its reason until it is unyanked", async () => {
    const { path } = await library();
    const client = owner();
    for (const version of ["1.0", "2.0"]) must(await upload(client, ownerOf(path), wheel({ version })));
    const change = (what: string, version: string, body?: string) =>
      client.send("POST", `${path}/simple/Demo/${version}/${what}`, body === undefined ? {} : { body });
    must(await change("yank", "2", "reason=loses+%3Cdata%3E"), 204);
    const yanked = async () => (await pageOf(client, path)).files.map((file) => file.yanked);
    assert.deepEqual(await yanked(), [false, "loses <data>"]);
    assert.match((await client.send("GET", `${path}/simple/demo/`)).body.toString(), /data-yanked="loses &lt;data&gt;"/);
    must(await change("yank", "2.0"), 204);
    assert.deepEqual(await yanked(), [false, true]);
    must(await change("unyank", "2.0"), 204);
    assert.deepEqual(await yanked(), [false, false]);
    for (const version of ["3.0", "nonsense"]) assert.equal((await change("yank", version)).status, 404);
    assert.equal((await change("yank", "2.0", `reason=${"x".repeat(501)}`)).status, 400);
  });

  test("yanking and deleting cause events, but only if something changes", async () => {
    const { path, group } = await library();
    const client = owner();
    for (const file of [wheel({ name: "My.Pkg" }), await sdist({ name: "My.Pkg" })]) must(await upload(client, ownerOf(path), file));
    const change = (what: string, body?: string) =>
      client.send("POST", `${path}/simple/my-pkg/1.0/${what}`, body === undefined ? {} : { body });
    for (const what of ["unyank", "yank", "yank"]) must(await change(what), 204);
    const before = (await client.send("GET", `${path}/simple/my-pkg/`)).headers.etag ?? "";
    must(await change("yank"), 204);
    assert.equal((await client.send("GET", `${path}/simple/my-pkg/`)).headers.etag, before);
    must(await change("yank", "reason=leaks"), 204);
    for (const what of ["unyank", "unyank"]) must(await change(what), 204);
    must(await client.send("DELETE", `${path}/simple/my-pkg/1.0/`), 204);
    const rows = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "data"])
      .where("group_uid", "=", group)
      .where("type", "like", "%.libraries.%")
      .where("type", "not like", "%.push.%")
      .orderBy("seq")
      .execute();
    const events = rows.map(({ type, data }) => {
      const { name, version, file, reason } = JSON.parse(data).body;
      return [type.slice("dev.holt.libraries.".length), name, version, file ?? reason];
    });
    assert.deepEqual(events, [
      ["yank.v1", "My.Pkg", "1.0", ""],
      ["yank.v1", "My.Pkg", "1.0", "leaks"],
      ["unyank.v1", "My.Pkg", "1.0", undefined],
      ["delete.v1", "My.Pkg", "1.0", "my_pkg-1.0-py3-none-any.whl"],
      ["delete.v1", "My.Pkg", "1.0", "my_pkg-1.0.tar.gz"],
    ]);
  });

  test("deleted files disappear from pages, catalogue and counts, and collection removes their bytes", async () => {
    const { path, group } = await library();
    const client = owner();
    const code = "unique to this test";
    const [first, second] = [wheel({ code }), wheel({ version: "2.0", code })];
    const files = [first, second, await sdist({ version: "2.0", code }), wheel({ version: "3.0+remediated1", code })];
    for (const file of files) must(await upload(client, ownerOf(path), file));
    const urlOf = ({ fileName, bytes }: (typeof files)[number]) => `${path}/files/${sha256Of(bytes)}/${fileName}`;
    const hasBytes = async ({ bytes }: (typeof files)[number]) => (await blobs.stat(`sha256:${sha256Of(bytes)}`)) !== undefined;
    const artifact = async () => {
      const { artifacts } = await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [Ecosystem.PYTHON], query: "demo" });
      const found = artifacts.find(({ uid }) => uid.startsWith(group));
      return found && [found.latestVersion, found.versionCount];
    };
    const count = async () =>
      Number((await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [Ecosystem.PYTHON] })).totalCount);
    await using blobs = createFilesystemBlobs({ dataDir: world.dataDir, log: createLog("silent") });
    const { store } = world;
    let ahead = 2 * GRACE_MS;
    const clock = { now: () => new Date(Date.now() + ahead) };
    const uploads = createUploads({ store, blobs, clock, graceMs: GRACE_MS });
    const collector = createCollector({
      store,
      blobs,
      references: blobReferences,
      uploads,
      clock,
      log: createLog("silent"),
      graceMs: GRACE_MS,
    });
    const before = await count();

    assert.deepEqual(await artifact(), ["3.0+remediated1", 3]);
    must(await client.send("DELETE", `${path}/simple/demo/3.0+remediated1/`), 204);
    must(await client.send("DELETE", urlOf(files[2]!)), 204);
    assert.deepEqual(await artifact(), ["2.0", 2]);
    assert.deepEqual((await pageOf(client, path)).versions, ["1.0", "2.0"]);
    assert.equal((await client.send("DELETE", urlOf(files[2]!))).status, 404);
    assert.ok((await collector.run())?.finished);
    assert.deepEqual(await Promise.all(files.map(hasBytes)), [true, true, false, false]);
    must(await client.send("GET", urlOf(files[0]!)));
    must(await client.send("DELETE", urlOf(files[1]!)), 204);
    assert.deepEqual(await artifact(), ["1.0", 1]);
    must(await client.send("DELETE", urlOf(files[0]!)), 204);
    assert.deepEqual([await artifact(), await count()], [undefined, before - 1]);
    assert.equal((await client.send("GET", `${path}/simple/demo/`)).status, 404);
    ahead += 2 * GRACE_MS;
    assert.ok((await collector.run())?.finished);
    assert.deepEqual(await Promise.all(files.map(hasBytes)), [false, false, false, false]);
    // The name of a deleted artifact can be used again, in another spelling and for other bytes.
    must(await upload(client, ownerOf(path), wheel({ name: "Demo", code: "new" })));
  });

  test("readers can read, publishers can publish, and other callers cannot tell whether the library exists", async () => {
    const { path, group } = await library();
    const { fileName, bytes } = wheel();
    must(await upload(owner(), ownerOf(path), { fileName, bytes }));
    const token = async (...capabilities: Capability[]) => basic("_token", (await world.robot(group, capabilities)).token);
    const reader = as(await token(LIST));
    const publisher = as(await token(LIST, CREATE));
    const onlyPublisher = as(await token(CREATE));
    const robot = await world.robot(group, [LIST]);
    const puller = as(basic(robot.uid, await world.robotProof()));
    const outsider = as(basic("_token", (await world.robot(await world.group(world.orgUid, "elsewhere"), [LIST, CREATE])).token));
    const filePath = `${path}/files/${sha256Of(bytes)}/${fileName}`;
    const tries = (client: RegistryClient) =>
      Promise.all([
        client.send("GET", `${path}/simple/demo/`),
        client.send("GET", filePath),
        client.send("GET", `${filePath}.metadata`),
        upload(client, ownerOf(path), { fileName, bytes }),
        client.send("POST", `${path}/simple/demo/1.0/unyank`),
        client.send("DELETE", `${path}/simple/demo/9.9/`),
      ]);
    const statuses = async (client: RegistryClient) => (await tries(client)).map(({ status }) => status);
    assert.deepEqual(await statuses(reader), [200, 200, 200, 403, 403, 403]);
    assert.deepEqual(await statuses(puller), [200, 200, 200, 403, 403, 403]);
    assert.deepEqual(await statuses(publisher), [200, 200, 200, 200, 204, 404]);
    assert.deepEqual(await statuses(onlyPublisher), [403, 403, 403, 200, 204, 404]);
    assert.deepEqual(await statuses(outsider), [404, 404, 404, 404, 404, 404]);
    // A missing library gets the same response.
    const missing = await outsider.send("GET", "/libraries/python/my-org:missing/simple/demo/");
    const hidden = (await tries(outsider))[0]!;
    assert.equal(hidden.body.toString().replace(ownerOf(path), "my-org:missing"), missing.body.toString());

    for (const anonymous of [as(undefined), as(basic("_token", "no")), as(basic("somebody", "secret"))]) {
      for (const answer of await tries(anonymous)) {
        assert.equal(answer.status, 401);
        assert.equal(answer.headers["www-authenticate"], 'Basic realm="Holt"');
      }
    }
    const bearer = as(`Bearer ${world.token}`);
    must(await bearer.send("GET", `${path}/simple/demo/`));
    must(await bearer.send("GET", `/libraries/python/${group.split("/").join(":")}/simple/demo/`));
  });

  test("unknown paths and wrong methods are answered with one sentence", async () => {
    const { path } = await library();
    const client = owner();
    for (const [method, at, status] of [
      ["GET", `${path}/`, 405],
      ["GET", `${path}/nothing/here`, 404],
      ["PUT", `${path}/simple/`, 405],
      ["POST", `${path}/simple/demo/`, 405],
      ["GET", `${path}/simple/demo/1.0/yank`, 405],
      ["GET", `${path}/simple/%ff/`, 400],
      ["GET", `${path}/simple/a%00b/`, 400],
      ["GET", `${path}/simple/${"a".repeat(1000)}/`, 404],
      ["GET", "/libraries/java/my-org/com/example/", 404],
      ["GET", "/libraries/python/", 404],
      ["GET", "/libraries/python/my-org:/simple/", 404],
    ] as const) {
      const answer = await client.send(method, at);
      assert.equal(answer.status, status, `${method} ${at}: ${answer.body}`);
      assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
      assert.match(answer.body.toString(), /^\S.*\S\n$/);
    }
  });
});
