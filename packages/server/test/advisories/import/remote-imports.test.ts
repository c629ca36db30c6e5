import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Import, Import_State, ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { createRecordReader } from "../../../src/advisories/import/record-reader.ts";
import { createImportQueue } from "../../../src/advisories/import/remote/import-queue.ts";
import { findImport } from "../../../src/advisories/import/remote/import-row.ts";
import { runImport } from "../../../src/advisories/import/remote/import-run.ts";
import { createStagedFiles } from "../../../src/blobs/staged-files.ts";
import { createGrants } from "../../../src/iam/grants/grants.ts";
import { Code } from "../../../src/lib/errors.ts";
import { createLog } from "../../../src/lib/log.ts";
import { entitleOwner } from "../../harness/advisories/entitle-owner.ts";
import {
  APPROVER,
  advisoriesIn,
  advisoryYaml,
  begin,
  countIn,
  ended,
  found,
  KIND,
  secdbOf,
  send,
  stagedFiles,
  WRITER,
} from "../../harness/advisories/remote-client.ts";
import { answerOf, codeOf, createRestClient, errorOf } from "../../harness/clients.ts";
import { startServer } from "../../harness/harness.ts";
import { zipOf } from "../../harness/libraries/python-packages.ts";
import { createMigratedDatabase } from "../../harness/migrated-database.ts";
import { until } from "../../harness/wait.ts";
import { describeWithWorld, startWorld, type World } from "../../harness/world.ts";

const { createImport, writeImport, startImport, getImport, listImports, deleteImport } = ImportsService.method;
const APPROVED = 2;
const PENDING = 1;
const HOUR = 3_600_000;

/** The owner may write advisories, but not approve them. */
async function place(world: World): Promise<string> {
  if (!entitled.has(world)) {
    entitled.add(world);
    await entitleOwner(world, world.orgUid);
  }
  return world.group(world.orgUid);
}
const entitled = new WeakSet<World>();

function counts({ counts: all }: Import): number[] {
  return [all?.read, all?.created, all?.updated, all?.unchanged, all?.problems].map(Number);
}

describeWithWorld("imports over the API", (world) => {
  it("an upload in chunks becomes stored advisories once, and the import reports its counts", async () => {
    const group = await place(world);
    const uid = await send(world, group, advisoryYaml("openssl"), { fileName: "openssl.yaml", pieceSize: 50 });
    const before = await world.must(getImport, { uid });
    const size = Buffer.byteLength(advisoryYaml("openssl"));
    assert.deepEqual([before.state, Number(before.receivedBytes), before.fileName], [Import_State.UPLOADING, size, "openssl.yaml"]);
    const started = await world.must(startImport, { uid, size: BigInt(size) });
    assert.deepEqual([started.state, started.identity], [Import_State.WAITING, world.owner.uid]);
    const done = await ended(world, uid);
    assert.deepEqual([done.state, done.error, counts(done), done.problems], [Import_State.DONE, "", [1, 1, 0, 0, 0], []]);
    assert.ok(done.endTime !== undefined);
    assert.deepEqual(await advisoriesIn(world, group), [{ artifact_name: "openssl", review_state: PENDING, author: world.owner.uid }]);
    // Its answer may have been lost.
    assert.equal((await world.must(startImport, { uid })).state, Import_State.DONE);
    const again = await ended(world, await begin(world, group, advisoryYaml("openssl")));
    assert.deepEqual([again.state, counts(again)], [Import_State.DONE, [1, 0, 0, 1, 0]]);
    const { rows } = { rows: await world.store.reader.selectFrom("advisory_import_part").selectAll().execute() };
    assert.deepEqual(
      rows.filter(({ import_uid: each }) => each === uid),
      [],
    );
    await until(async () => (await stagedFiles(world)).length === 0);
  });

  it("a chunk whose acknowledgement was lost can be sent again, and any other must follow the last one", async () => {
    const group = await place(world);
    const text = Buffer.from(advisoryYaml("zlib"));
    const [first, second] = [text.subarray(0, 100), text.subarray(100)];
    for (const client of [world.rest, world.grpc]) {
      const uid = (await world.must(createImport, { parent: group, kind: KIND, fileName: "zlib.yaml" })).uid;
      const write = (offset: number, data: Uint8Array) =>
        client.call(writeImport, { uid, offset: BigInt(offset), data }, world.owner.token);
      const received = async (offset: number, data: Uint8Array) => {
        const outcome = await write(offset, data);
        assert.ok(outcome.ok, outcome.ok ? "" : outcome.error.message);
        return Number(outcome.value.receivedBytes);
      };
      const refused = async (offset: number, data: Uint8Array, has: number) => {
        const { code, message, details } = errorOf(await write(offset, data));
        assert.equal(code, Code.OUT_OF_RANGE);
        assert.match(message, new RegExp(`with offset ${has}$`));
        assert.deepEqual(details[0]?.metadata, { received_bytes: String(has) });
      };
      await refused(100, second, 0);
      assert.equal(await received(0, first), 100);
      assert.equal(await received(0, first), 100);
      await refused(0, second, 100);
      await refused(0, first.subarray(0, 99), 100);
      await refused(50, first.subarray(50), 100);
      await refused(101, second, 100);
      await refused(Number.MAX_SAFE_INTEGER, second, 100);
      const both = await Promise.all([received(100, second), received(100, second)]);
      assert.deepEqual(both, [text.length, text.length]);
      assert.equal(await received(0, first), text.length);
      await world.must(startImport, { uid });
      const done = await ended(world, uid);
      assert.equal(Number(done.counts?.read), 1);
      assert.equal(codeOf(await write(text.length, second)), Code.FAILED_PRECONDITION);
    }
    assert.equal(await countIn(world, group), 1);
  });

  it("an invalid chunk, kind or name and an incomplete file are refused", async () => {
    const parent = await place(world);
    const { uid } = await world.must(createImport, { parent, kind: KIND, fileName: "a" });
    const codes = async (offset: bigint, length: number) =>
      codeOf(await world.grpc.call(writeImport, { uid, offset, data: Buffer.alloc(length) }, world.owner.token));
    assert.deepEqual([await codes(0n, 0), await codes(0n, 3_000_001), await codes(-1n, 1)], [3, 3, 3]);
    const start = async (size: bigint) => errorOf(await world.rest.call(startImport, { uid, size }, world.owner.token));
    assert.match((await start(0n)).message, /nothing was received/);
    await world.must(writeImport, { uid, data: Buffer.alloc(3_000_000, " ") });
    assert.match((await start(3_000_001n)).message, /3000000 of 3000001 bytes were received/);
    for (const wrong of [{ kind: 7 as ImportKind }, { fileName: "a\nb" }, { fileName: "a".repeat(256) }]) {
      const request = { parent, kind: KIND, fileName: "a", ...wrong };
      assert.equal(codeOf(await world.rest.call(createImport, request, world.owner.token)), Code.INVALID_ARGUMENT, JSON.stringify(wrong));
    }
    await world.must(deleteImport, { uid });
  });

  it("problems in a zip are reported under the sender's file name, and the rest is imported", async () => {
    const group = await place(world);
    const zip = zipOf([
      { name: "good.yaml", content: advisoryYaml("good") },
      { name: "bad.yaml", content: "package:\n  name: bad\nadvisories:\n  - id: 7\n    events: nonsense\n" },
      { name: "worse.json", content: '{"id":' },
    ]);
    const done = await ended(world, await begin(world, group, zip, { fileName: "all of it.zip" }));
    assert.equal(done.state, Import_State.DONE);
    assert.equal(Number(done.counts?.created), 1);
    assert.ok(Number(done.counts?.problems) >= 2, JSON.stringify(done.problems));
    assert.deepEqual([...new Set(done.problems.map(({ file }) => file))].toSorted(), [
      "all of it.zip!bad.yaml",
      "all of it.zip!worse.json",
    ]);
    for (const { reason } of done.problems) assert.notEqual(reason, "");
    const [listed] = (await world.must(listImports, { parent: group })).imports;
    assert.deepEqual([listed?.uid, listed?.problems, listed?.counts], [done.uid, [], done.counts]);
  });

  it("an import stores its first 1,000 problems and counts the others", async () => {
    const group = await place(world);
    const packages = Array.from({ length: 1500 }, (_, i) => ({ pkg: { name: `p${i}`, secfixes: { "1.0-r0": [7] } } }));
    const done = await ended(world, await begin(world, group, JSON.stringify({ reponame: "main", packages })));
    assert.deepEqual([done.state, Number(done.counts?.problems), done.problems.length], [Import_State.DONE, 1500, 1000]);
    assert.equal(done.problems[0]?.file, "feed.json");
    assert.notEqual(done.problems[0]?.position, done.problems[999]?.position);
  });

  it("an import approves events only if the caller and its token may", async () => {
    const states = async (token: string, name: string) => {
      const group = await world.group(world.orgUid);
      await ended(world, await begin(world, group, advisoryYaml(name), { token }));
      return (await advisoriesIn(world, group)).map(({ review_state: state }) => state);
    };
    const approver = await world.robot(world.orgUid, APPROVER);
    const writer = await world.robot(world.orgUid, WRITER);
    const narrow = await world.narrow(approver, { cap: ["advisories.create", "advisories.update", "advisories.list"] });
    assert.deepEqual(await states(approver.token, "a"), [APPROVED]);
    assert.deepEqual(await states(writer.token, "b"), [PENDING]);
    assert.deepEqual(await states(narrow.token, "c"), [PENDING]);
  });

  it("an import can be sent and started only by the identity that began it", async () => {
    const group = await place(world);
    const approver = await world.robot(world.orgUid, APPROVER);
    const mallory = await world.robot(world.orgUid, APPROVER);
    const { uid } = await world.must(createImport, { parent: group, kind: KIND, fileName: "a.yaml" }, approver.token);
    const data = Buffer.from(advisoryYaml("mine"));
    for (const client of [world.rest, world.grpc]) {
      assert.equal(codeOf(await client.call(writeImport, { uid, data }, mallory.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await client.call(startImport, { uid }, mallory.token)), Code.PERMISSION_DENIED);
    }
    assert.equal(Number((await world.must(getImport, { uid }, mallory.token)).receivedBytes), 0);
    await world.must(writeImport, { uid, data }, approver.token);
    assert.equal(codeOf(await world.rest.call(startImport, { uid }, mallory.token)), Code.PERMISSION_DENIED);
    await world.must(deleteImport, { uid }, mallory.token);
  });

  it("an import deletes withdrawn advisories only if the caller may", async () => {
    const record = { schema_version: "1.6.0", id: "GONE-1", modified: "2026-01-01T00:00:00Z", withdrawn: "2026-01-02T00:00:00Z" };
    const withdrawn = JSON.stringify({ ...record, affected: [{ package: { ecosystem: "npm", name: "left-pad" } }] });
    const outcome = async (capabilities: readonly Capability[]) => {
      const group = await world.group(world.orgUid);
      const { token } = await world.robot(world.orgUid, capabilities);
      return counts(await ended(world, await begin(world, group, withdrawn, { token })));
    };
    assert.deepEqual(await outcome(APPROVER), [0, 0, 0, 0, 1]);
    assert.deepEqual(await outcome([...APPROVER, Capability.CAP_ADVISORIES_DELETE]), [1, 1, 0, 0, 0]);
  });

  it("only the bootstrap owner can import vulnerability metadata", async () => {
    const parent = await place(world);
    const kind = ImportKind.VULNERABILITIES;
    const robot = await world.robot(world.orgUid, [...APPROVER, Capability.CAP_ADVISORIES_DELETE]);
    assert.equal(codeOf(await world.rest.call(createImport, { parent, kind, fileName: "a" }, robot.token)), Code.PERMISSION_DENIED);
    const osv = { id: "CVE-2024-0003", modified: "2024-01-01T00:00:00Z", summary: "It overflows.", affected: [] };
    const uid = await begin(world, parent, JSON.stringify(osv), { kind });
    assert.equal(codeOf(await world.rest.call(deleteImport, { uid }, robot.token)), Code.PERMISSION_DENIED);
    const done = await ended(world, uid);
    assert.deepEqual([done.state, done.kind, counts(done).slice(0, 2)], [Import_State.DONE, kind, [1, 1]]);
    const row = await world.store.reader.selectFrom("vulnerability").select("body").where("id", "=", osv.id).executeTakeFirst();
    assert.match(row?.body ?? "", /It overflows/);
  });

  it("an import runs with the rights that its identity has at that time", async () => {
    const [busy, group] = [await place(world), await place(world)];
    const robot = await world.robot(group);
    const role = await world.role(world.orgUid, APPROVER);
    const binding = await world.bind(robot.uid, role, group);
    const { token } = await world.signIn(robot.uid);
    const uid = await send(world, group, advisoryYaml("late"), { token });
    // Imports run one after the other, those that started in the same millisecond in any order.
    const first = await begin(world, busy, secdbOf(4000));
    await found(world, first, ({ state }) => state === Import_State.RUNNING);
    await world.must(startImport, { uid }, token);
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
    const failed = await ended(world, uid);
    assert.equal((await world.must(getImport, { uid: first })).state, Import_State.DONE);
    assert.deepEqual([failed.state, await countIn(world, group)], [Import_State.FAILED, 0]);
    assert.match(failed.error, /may not import this, or not any more/);
  });

  it("deleting an import stops it and removes its file", async () => {
    const group = await place(world);
    const uid = await begin(world, group, secdbOf(20_000));
    await found(world, uid, ({ state }) => state === Import_State.RUNNING);
    await until(async () => (await countIn(world, group)) > 0);
    await world.must(deleteImport, { uid });
    assert.equal(codeOf(await world.rest.call(getImport, { uid }, world.owner.token)), Code.NOT_FOUND);
    // The next one is not held up by it.
    const next = await ended(world, await begin(world, group, advisoryYaml("next")));
    assert.equal(next.state, Import_State.DONE);
    assert.ok((await countIn(world, group)) < 20_000);
    await until(async () => (await stagedFiles(world)).length === 0);
  });

  it("an organization can have at most 8 unfinished imports", async () => {
    await place(world);
    const parent = await world.group("", "many imports");
    await entitleOwner(world, parent);
    const make = () => world.rest.call(createImport, { parent, kind: KIND, fileName: "a" }, world.owner.token);
    const outcomes = await Promise.all(Array.from({ length: 12 }, make));
    const made = outcomes.flatMap((outcome) => (outcome.ok ? outcome.value.uid : []));
    assert.equal(made.length, 8);
    assert.equal(codeOf(await make()), Code.RESOURCE_EXHAUSTED);
    await world.must(deleteImport, { uid: made[0] ?? "" });
    assert.equal(codeOf(await make()), 0);
    assert.equal(codeOf(await world.rest.call(createImport, { parent: world.orgUid, kind: KIND, fileName: "a" }, world.owner.token)), 0);
  });

  it("imports of a group are listed newest first, page by page", async () => {
    const group = await place(world);
    const made: string[] = [];
    for (let i = 0; i < 5; i++) {
      if (i % 2 === 0) world.clock.advance(1000);
      made.push((await world.must(createImport, { parent: group, kind: KIND, fileName: `${i}` })).uid);
    }
    const listed: string[] = [];
    const sizes: number[] = [];
    for (let pageToken = ""; sizes.length === 0 || pageToken !== ""; ) {
      const page = await world.must(listImports, { parent: group, pageSize: 2, pageToken });
      listed.push(...page.imports.map(({ uid }) => uid));
      sizes.push(page.imports.length);
      pageToken = page.nextPageToken;
    }
    assert.deepEqual(sizes, [2, 2, 1]);
    assert.deepEqual(listed.toSorted(), made.toSorted());
    const times = await Promise.all(listed.map(async (uid) => Number((await world.must(getImport, { uid })).createTime?.seconds)));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
    assert.deepEqual(
      (await world.must(listImports, { parent: world.orgUid })).imports.filter(({ uid }) => made.includes(uid)),
      [],
    );
    for (const uid of made) await world.must(deleteImport, { uid });
  });

  it("imports are deleted with their group", async () => {
    const group = await place(world);
    const uid = await send(world, group, advisoryYaml("gone"));
    await world.must(GroupsService.method.deleteGroup, { uid: group });
    assert.equal(await world.store.reader.selectFrom("advisory_import").select("uid").where("uid", "=", uid).executeTakeFirst(), undefined);
  });

  it("another server takes over an import whose server is gone, and gives up after repeated failures", async () => {
    const group = await place(world);
    const change = async (uid: string, columns: object) => {
      await world.store.transaction((db) => db.updateTable("advisory_import").set(columns).where("uid", "=", uid).execute());
    };
    const lease = () => ({
      ...{ state: "running", lease_holder: "gone", lease_time: new Date(world.clock.now().getTime() + 30_000).toISOString() },
      ...{ start_time: world.clock.now().toISOString(), session: JSON.stringify({ uid: world.owner.uid }) },
    });
    const uids = [await send(world, group, advisoryYaml("left")), await send(world, group, advisoryYaml("hopeless"))];
    const [left = "", hopeless = ""] = uids;
    await change(left, { ...lease(), attempts: 1 });
    await change(hopeless, { ...lease(), attempts: 5 });
    const other = await ended(world, await begin(world, group, advisoryYaml("other")));
    assert.equal(other.state, Import_State.DONE);
    for (const uid of uids) assert.equal((await world.must(getImport, { uid })).state, Import_State.RUNNING);
    world.clock.advance(31_000);
    assert.equal((await ended(world, left)).state, Import_State.DONE);
    const failed = await ended(world, hopeless);
    assert.equal(failed.state, Import_State.FAILED);
    assert.match(failed.error, /begun 5 times/);
    assert.deepEqual(
      (await advisoriesIn(world, group)).map(({ artifact_name: name }) => name),
      ["left", "other"],
    );
  });

  it("an import that another server took over keeps its file", async () => {
    const uid = await send(world, await place(world), advisoryYaml("taken"));
    const { store, clock, dataDir } = world;
    const lease = { lease_holder: "another", lease_time: new Date(clock.now().getTime() + HOUR).toISOString() };
    await store.transaction((db) =>
      db
        .updateTable("advisory_import")
        .set({ state: "running", ...lease })
        .where("uid", "=", uid)
        .execute(),
    );
    const row = await findImport(store.reader, uid);
    const log = createLog("silent");
    const files = createStagedFiles({ dataDir, log });
    const queue = createImportQueue(store, clock);
    const options = {
      ...{ store, clock, log, files, queue, reader: createRecordReader(), bootstrapOwner: "" },
      grants: createGrants({ store }),
    };
    // One that comes to nothing at once.
    await runImport({ ...row, attempts: 6 }, options, new AbortController().signal);
    const nothing = { read: 0, created: 0, updated: 0, unchanged: 0, ignored: 0, problems: 0 };
    assert.equal(await queue.done(row, nothing, { read: 0, problems: 0, unsaved: [] }), false);
    assert.ok((await stagedFiles(world)).includes(row.file));
    assert.equal((await findImport(store.reader, uid)).state, "running");
    await world.must(deleteImport, { uid });
  });

  it("an import fails if the bytes on disk differ from those that were sent", async () => {
    const group = await place(world);
    const uid = await send(world, group, advisoryYaml("honest"), { pieceSize: 100 });
    const { file } = await world.store.reader.selectFrom("advisory_import").select("file").where("uid", "=", uid).executeTakeFirstOrThrow();
    const path = join(world.dataDir, "imports", file);
    await writeFile(path, advisoryYaml("forged"));
    await world.must(startImport, { uid });
    const failed = await ended(world, uid);
    assert.match(failed.error, /not as it was sent/);
    const other = await send(world, group, advisoryYaml("longer"));
    const row = await world.store.reader.selectFrom("advisory_import").select("file").where("uid", "=", other).executeTakeFirstOrThrow();
    // A piece that was written and never acknowledged.
    await writeFile(join(world.dataDir, "imports", row.file), "\n  - nonsense", { flag: "a" });
    await world.must(startImport, { uid: other });
    const done = await ended(world, other);
    assert.deepEqual([done.state, counts(done)], [Import_State.DONE, [1, 1, 0, 0, 0]]);
  });

  it("abandoned imports are removed with their bytes after a day, finished ones after 30 days", async () => {
    const group = await place(world);
    const robot = await world.robot(world.orgUid, APPROVER);
    const finished = (await ended(world, await begin(world, group, advisoryYaml("finished")))).uid;
    const abandoned = await send(world, group, "half of it");
    await writeFile(join(world.dataDir, "imports", "nobodys"), "left behind");
    world.clock.advance(23 * HOUR);
    const young = await send(world, group, "a little", await world.signIn(robot.uid));
    world.clock.advance(2 * HOUR);
    await until(async () => !(await isThere(abandoned)));
    await until(async () => (await stagedFiles(world)).length === 1);
    assert.deepEqual([await isThere(young), await isThere(finished)], [true, true]);
    world.clock.advance(30 * 24 * HOUR);
    await until(async () => !(await isThere(finished)) && !(await isThere(young)));
    await until(async () => (await stagedFiles(world)).length === 0);
  });

  async function isThere(uid: string): Promise<boolean> {
    return (await world.store.reader.selectFrom("advisory_import").select("uid").where("uid", "=", uid).executeTakeFirst()) !== undefined;
  }
});

describeWithWorld(
  "the size of imports",
  (world) => {
    it("the size of an import is limited by HOLT_IMPORT_MAX_BYTES", async () => {
      const parent = await place(world);
      const { uid } = await world.must(createImport, { parent, kind: KIND, fileName: "a" });
      const write = (offset: bigint, length: number) =>
        world.rest.call(writeImport, { uid, offset, data: Buffer.alloc(length, " ") }, world.owner.token);
      assert.equal(codeOf(await write(0n, 600)), 0);
      const { code, message } = errorOf(await write(600n, 401));
      assert.equal(code, Code.INVALID_ARGUMENT);
      assert.match(message, /larger than 1000 bytes/);
      assert.equal(codeOf(await write(600n, 400)), 0);
    });
  },
  { env: { HOLT_IMPORT_MAX_BYTES: "1000" } },
);

describe("imports on two servers with one database", () => {
  it("an import runs once, on a server that is free, whichever server received its chunks", async () => {
    const url = await createMigratedDatabase();
    await using world = await startWorld({ env: { HOLT_DATABASE_URL: url } });
    await using other = await startServer({
      clock: world.clock,
      env: { HOLT_DATABASE_URL: url, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl },
    });
    await using there = createRestClient(`http://127.0.0.1:${other.port}`);
    const groups = [await place(world), await place(world), await place(world), await place(world)];
    const uids = await Promise.all(
      groups.map(async (parent, i) => {
        const bytes = secdbOf(1500, `of-${i}`);
        const { uid } = await world.must(createImport, { parent, kind: KIND, fileName: "a.json" });
        const token = world.owner.token;
        const half = bytes.length >> 1;
        answerOf(await world.rest.call(writeImport, { uid, data: bytes.subarray(0, half) }, token));
        answerOf(await there.call(writeImport, { uid, offset: BigInt(half), data: bytes.subarray(half) }, token));
        answerOf(await (i % 2 === 0 ? there : world.rest).call(startImport, { uid, size: BigInt(bytes.length) }, token));
        return uid;
      }),
    );
    for (const uid of uids) {
      const done = await ended(world, uid);
      assert.deepEqual([done.state, counts(done)], [Import_State.DONE, [1500, 1500, 0, 0, 0]]);
    }
    for (const group of groups) assert.equal(await countIn(world, group), 1500);
    const rows = await world.store.reader.selectFrom("advisory_import").select("attempts").execute();
    assert.deepEqual(rows, Array(4).fill({ attempts: 1 }));
    await until(async () => (await stagedFiles(world)).length === 0);
  });
});
