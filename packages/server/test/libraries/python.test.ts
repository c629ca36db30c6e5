/** Python packages on both stores: publishing and downloading files, and the catalogue. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { metadataText, sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createPythonWorld, fileUrl, must, ownerOf, pageOf } from "../harness/libraries/python-world.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

describeWithWorld("Python packages", (world: World) => {
  const python = createPythonWorld(world);
  after(() => python[Symbol.dispose]());
  const { library, owner } = python;

  test("a summary that is cut within an emoji does not prevent later uploads", async () => {
    const { path } = await library();
    for (const version of ["1.0", "1.1"]) {
      const file = wheel({ version, headers: [`Summary: ${"a".repeat(2047)}😀`] });
      must(await upload(owner(), ownerOf(path), file, { name: "Demo", version }));
    }
  });

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
});
