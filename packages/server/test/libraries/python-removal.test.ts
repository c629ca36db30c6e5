/** Yanking and deleting Python files on both stores, with events and the collection of their bytes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { createFilesystemBlobs } from "../../src/blobs/filesystem.ts";
import { blobReferences } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import { createCollector } from "../../src/registry/collection/gc.ts";
import { createUploads } from "../../src/registry/content/uploads.ts";
import { sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createPythonWorld, must, ownerOf, pageOf } from "../harness/libraries/python-world.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const GRACE_MS = 3_600_000;

describeWithWorld("yanked and deleted Python files", (world: World) => {
  const python = createPythonWorld(world);
  after(() => python[Symbol.dispose]());
  const { library, owner } = python;

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
    assert.equal((await change("yank", "2.0", `reason=${"x".repeat(5 * 1024 * 1024)}`)).status, 413);
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
});
