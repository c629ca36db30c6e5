import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Import_State, ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { Code } from "../../../src/lib/errors.ts";
import { entitleOwner } from "../../harness/advisories/entitle-owner.ts";
import { type FeedServer, plain, startFeedServer, status } from "../../harness/advisories/feed-server.ts";
import { advisoriesIn, advisoryYaml, ended, found, stagedFiles, WRITER } from "../../harness/advisories/remote-client.ts";
import { codeOf, errorOf } from "../../harness/clients.ts";
import { until } from "../../harness/wait.ts";
import { describeWithWorld } from "../../harness/world.ts";

const { fetchImport, getImport, startImport, deleteImport } = ImportsService.method;
const kind = ImportKind.ADVISORIES;
const PENDING = 1;

describeWithWorld("imports from an address", (world) => {
  let feed: FeedServer;
  before(async () => {
    feed = await startFeedServer();
    await entitleOwner(world, world.orgUid);
  });
  after(() => feed[Symbol.asyncDispose]());

  it("a file is fetched and imported once, with the address, the bytes, the counts and the problems", async () => {
    const parent = await world.group(world.orgUid);
    const bytes = `${advisoryYaml("openssl")}---\n- of no format\n`;
    feed.answer("/all/wolfi.yaml", plain(bytes));
    const url = `${feed.url}/all/wolfi.yaml`;
    const { uid, state, identity, startTime } = await world.must(fetchImport, { parent, kind, url });
    assert.deepEqual([state, identity, startTime !== undefined], [Import_State.FETCHING, world.owner.uid, true]);
    const done = await ended(world, uid);
    assert.deepEqual([done.state, done.error, done.url, done.fileName], [Import_State.DONE, "", url, "wolfi.yaml"]);
    assert.equal(Number(done.receivedBytes), Buffer.byteLength(bytes));
    assert.deepEqual([Number(done.counts?.created), done.problems.length], [1, 1]);
    assert.equal(done.problems[0]?.file, "wolfi.yaml");
    assert.deepEqual(
      (await advisoriesIn(world, parent)).map(({ artifact_name, review_state }) => [artifact_name, review_state]),
      [["openssl", PENDING]],
    );
    assert.equal(feed.asked("/all/wolfi.yaml").length, 1);
    assert.equal((await world.must(startImport, { uid })).state, Import_State.DONE);
    await until(async () => (await stagedFiles(world)).length === 0);
  });

  it("the number of received bytes grows while the file arrives, and a deletion ends the fetch", async () => {
    const parent = await world.group(world.orgUid);
    let isClosed = false;
    feed.answer("/slow.json", (response) => {
      response.once("close", () => {
        isClosed = true;
      });
      response.writeHead(200).write("[".padEnd(100_000));
    });
    const { uid } = await world.must(fetchImport, { parent, kind, url: `${feed.url}/slow.json` });
    await found(world, uid, ({ state, receivedBytes }) => state === Import_State.FETCHING && receivedBytes === 100_000n);
    await world.must(deleteImport, { uid });
    await until(() => isClosed);
    assert.equal(codeOf(await world.rest.call(getImport, { uid }, world.owner.token)), Code.NOT_FOUND);
    await until(async () => (await stagedFiles(world)).length === 0);
  });

  it("an import whose file cannot be fetched fails with the reason", async () => {
    const parent = await world.group(world.orgUid);
    feed.answer("/empty.json", plain(""));
    feed.answer("/private.json", (response) => void response.writeHead(302, { location: "http://[::1]:1/feed.json" }).end());
    feed.answer("/broken.json", status(503));
    const reasons = { "/missing.json": /status 404/, "/broken.json": /status 503/, "/empty.json": /is empty/, "/private.json": /\S/ };
    for (const [path, reason] of Object.entries(reasons)) {
      const { uid } = await world.must(fetchImport, { parent, kind, url: feed.url + path });
      const failed = await ended(world, uid);
      assert.deepEqual([failed.state, failed.endTime !== undefined], [Import_State.FAILED, true], path);
      assert.match(failed.error, reason);
    }
    await until(async () => (await stagedFiles(world)).length === 0);
  });

  it("an address without https, with a password or of no server is refused, as are an unknown kind and the records of all organizations", async () => {
    const parent = await world.group(world.orgUid);
    const robot = await world.robot(parent, WRITER);
    for (const url of ["", "http://8.8.8.8/feed.json", "https://user:secret@example.test/", "file:///etc/passwd", "https:///x"]) {
      const error = errorOf(await world.rest.call(fetchImport, { parent, kind, url }, robot.token));
      assert.deepEqual([error.code, error.message.includes("url")], [Code.INVALID_ARGUMENT, true], url);
    }
    const url = "https://example.test/feed.json";
    const call = (request: object, token: string) => world.rest.call(fetchImport, { parent, kind, url, ...request }, token);
    assert.equal(codeOf(await call({ kind: 7 }, robot.token)), Code.INVALID_ARGUMENT);
    assert.equal(codeOf(await call({ kind: ImportKind.VULNERABILITIES }, robot.token)), Code.PERMISSION_DENIED);
    const reader = await world.robot(parent, WRITER.slice(2));
    assert.equal(codeOf(await call({}, reader.token)), Code.PERMISSION_DENIED);
  });

  it("an import of an identity that has lost its rights before the file has arrived stores nothing", async () => {
    const parent = await world.group(world.orgUid);
    const robot = await world.robot(parent, WRITER);
    let finish = () => {};
    feed.answer("/late.yaml", (response) => {
      response.writeHead(200);
      response.flushHeaders();
      finish = () => void response.end(advisoryYaml("curl"));
    });
    const { uid } = await world.must(fetchImport, { parent, kind, url: `${feed.url}/late.yaml` }, robot.token);
    await until(() => feed.asked("/late.yaml").length > 0);
    const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { identity: robot.uid });
    for (const binding of roleBindings) await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding.uid });
    finish();
    const failed = await ended(world, uid);
    assert.deepEqual([failed.state, await advisoriesIn(world, parent)], [Import_State.FAILED, []]);
  });
});
