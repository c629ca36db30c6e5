/**
 * Tests the order of reading on both stores: organizations take turns, however many images they have waiting and
 * however long these take.
 */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { sql } from "kysely";
import { createFilesystemBlobs } from "../../src/blobs/filesystem.ts";
import { Parsers } from "../../src/jobs/parsers.ts";
import { type Clock, dateFromTimestamp } from "../../src/lib/clock.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";
import { readingTurns } from "../../src/registry/migrations/018-reading-turns.ts";
import { startPackageReader } from "../../src/registry/packages/package-reader.ts";
import { appendScan, type ClaimedScan, createScanQueue, type ScanQueue, type ScanResult } from "../../src/registry/packages/scan-queue.ts";
import { APK, apkDatabase, layerOf } from "../harness/registry/image-content.ts";
import { createImageRepo, scanOf } from "../harness/registry/image-world.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const MINUTE = 60_000;
const DONE: ScanResult = { state: "done", distribution: "", error: "", packageCount: 0 };
const FAILED: ScanResult = { ...DONE, state: "failed", error: "unreadable" };

describeWithWorld(
  "fairness between organizations",
  (world) => {
    const [a, b, c] = [newUid(""), newUid(""), newUid("")].sort() as [string, string, string];
    const digestOf = (name: string) => `sha256:${Buffer.from(name).toString("hex").padEnd(64, "0")}`;
    const nameOf = ({ digest }: ClaimedScan) => Buffer.from(digest.slice(7).replace(/(?:00)+$/, ""), "hex").toString();
    const newQueue = () => createScanQueue(world.store, world.clock);
    let queue: ScanQueue;
    beforeEach(async () => {
      queue = newQueue();
      await world.store.transaction(async (db) => {
        await db.deleteFrom("image_scan").execute();
        await db.deleteFrom("image_turn").execute();
      });
    });

    /** Pushes images, each later than the one before. */
    async function push(orgUid: string, ...names: readonly string[]): Promise<void> {
      for (const name of names) {
        world.clock.advance(10);
        await world.store.transaction((db) => appendScan(db, digestOf(name), orgUid, world.clock.now()));
      }
    }
    async function claim(from = queue): Promise<ClaimedScan> {
      world.clock.advance(10);
      return (await from.claim()) ?? assert.fail("nothing waits");
    }
    /** Claims the next images and fails each at once. @returns their names */
    async function readNext(count: number): Promise<string[]> {
      const names = [];
      for (let n = 0; n < count; n++) {
        const claimed = await claim();
        names.push(nameOf(claimed));
        await queue.finish(claimed, FAILED);
      }
      return names;
    }
    const waiting = async () =>
      (await world.store.reader.selectFrom("image_wait").select(["org_uid", "digest", "due_time"]).orderBy("digest").execute()).map(
        ({ org_uid, digest, due_time }) => [org_uid, digest, due_time],
      );

    test("an organization's first image is read before another organization's backlog, and a deleted organization leaves nothing", async () => {
      const user = await world.user();
      const group = (await world.must(GroupsService.method.createGroup, { group: { name: "other" } }, user.token)).uid;
      using many = await createImageRepo(world);
      using one = await createImageRepo(world, user.token, group);
      const layer = await layerOf({ [APK]: apkDatabase("musl 1.2.5-r9") });
      const images = [];
      for (let n = 0; n < 5; n++) {
        images.push((await many.push([layer])).digest);
        world.clock.advance(1);
      }
      const { digest } = await one.push([layer]);
      const log = createLog("silent");
      const ticking: Clock = {
        now() {
          world.clock.advance(1);
          return world.clock.now();
        },
      };
      {
        const blobs = createFilesystemBlobs({ dataDir: world.dataDir, log });
        await using parsers = new Parsers();
        await using _reader = startPackageReader({ store: world.store, blobs, clock: ticking, log, parsers });
        const timeOf = (found: Parameters<typeof scanOf>[0]) => dateFromTimestamp(scanOf(found).readTime!).getTime();
        const time = timeOf(await one.read(digest));
        const others = [];
        for (const image of images) others.push(timeOf(await many.read(image)));
        assert.ok(others.filter((other) => other > time).length >= 4, "only the first was read before");
        await until(async () => (await waiting()).length === 0);
      }
      const turns = world.store.reader.selectFrom("image_turn").select("org_uid").orderBy("org_uid");
      assert.deepEqual(
        await turns.execute(),
        [world.orgUid, group].sort().map((org_uid) => ({ org_uid })),
      );
      await world.must(ReposService.method.deleteRepo, { uid: one.uid }, user.token);
      await world.must(GroupsService.method.deleteGroup, { uid: group }, user.token);
      assert.deepEqual(await turns.execute(), [{ org_uid: world.orgUid }]);
    });

    test("the organization with the oldest last run is next, even after a pause without images", async () => {
      await push(c, "c1");
      await push(a, "a1", "a2", "a3", "a4");
      await push(b, "b1");
      assert.deepEqual(await readNext(3), ["a1", "b1", "c1"]);
      await push(b, "b2");
      await push(c, "c2", "c3");
      assert.deepEqual(await readNext(6), ["a2", "b2", "c2", "a3", "c3", "a4"]);
      await push(b, "b3", "b4");
      await push(a, "a5", "a6");
      await push(c, "c4");
      assert.deepEqual(await readNext(5), ["b3", "c4", "a5", "b4", "a6"]);
    });

    test("concurrent servers serve different organizations, and a single server serves them all", async () => {
      await push(a, "a1", "a2", "a3", "a4", "a5", "a6");
      await push(b, "b1");
      await push(c, "c1");
      const claimed = (servers: number) => Promise.all(Array.from({ length: servers }, () => claim(newQueue())));
      assert.deepEqual((await claimed(3)).map(nameOf).sort(), ["a1", "b1", "c1"]);
      assert.deepEqual((await claimed(5)).map(nameOf).sort(), ["a2", "a3", "a4", "a5", "a6"]);
      assert.equal(await queue.claim(), undefined);
      const due = await queue.nextDue();
      assert.ok(due !== null && due > world.clock.now(), "it is due when the first claim ends");
    });

    test("an image of several organizations is read once, in the turn of the first, and each gets the origins in its own turn", async () => {
      await push(a, "a1", "a2", "shared");
      await push(b, "shared", "b1");
      assert.deepEqual(await readNext(1), ["a1"]);
      const read = await claim();
      assert.deepEqual([nameOf(read), read.orgUid], ["shared", b]);
      // An organization that waits for this image has another one read in the meantime.
      assert.deepEqual(await readNext(2), ["a2", "b1"]);
      const row = world.store.reader.selectFrom("image_scan").select("lease_time").where("digest", "=", read.digest);
      assert.deepEqual(await queue.nextDue(), new Date((await row.executeTakeFirstOrThrow()).lease_time ?? ""));
      await queue.finish(read, DONE);
      await push(c, "shared");
      const told = [];
      for (let n = 0; n < 3; n++) {
        const next = await claim();
        await queue.originsRecorded(next);
        told.push(next);
      }
      assert.deepEqual(
        told.map((one) => [nameOf(one), one.isRead, one.orgUid]),
        [c, a, b].map((orgUid) => ["shared", true, orgUid]),
      );
    });

    test("postponing an image postpones it for all organizations, and giving it up ends the wait of all", async () => {
      await push(a, "shared");
      await push(b, "shared");
      await queue.postpone(await claim(), "the disk is gone");
      const due = await queue.nextDue();
      await push(c, "shared");
      assert.deepEqual(
        (await waiting()).map(([orgUid, , time]) => [orgUid, time]),
        [a, b, c].map((orgUid) => [orgUid, due?.toISOString()]),
      );
      assert.equal(await queue.claim(), undefined);
      world.clock.advance(MINUTE);
      await queue.finish(await claim(), FAILED);
      assert.deepEqual(await waiting(), []);
      await push(b, "shared");
      assert.equal((await claim()).orgUid, b);
    });

    test("an abandoned claim on an image that no organization waits for does not block", async () => {
      await push(a, "a1");
      await claim();
      await world.store.transaction((db) => db.deleteFrom("image_wait").execute());
      world.clock.advance(2 * MINUTE);
      assert.equal(await queue.nextDue(), null);
    });

    test("an organization whose image takes minutes waits that much longer for its next turn, on all servers", async () => {
      await push(a, "a1", "a2", "a3", "a4");
      await push(b, "b1", "b2", "b3", "b4", "b5", "b6");
      const slow = await claim();
      assert.equal(nameOf(slow), "a1");
      const other = newQueue();
      for (const expected of ["b1", "b2", "b3"]) {
        world.clock.advance(MINUTE / 2);
        assert.equal(await queue.renew(slow), true);
        const quick = await claim(other);
        assert.equal(nameOf(quick), expected);
        await other.finish(quick, FAILED);
      }
      world.clock.advance(MINUTE / 2);
      await queue.finish(slow, FAILED);
      assert.deepEqual(await readNext(1), ["b4"]);
      world.clock.advance(2 * MINUTE + 1000);
      assert.deepEqual(await readNext(5), ["b5", "a2", "b6", "a3", "a4"]);
    });

    test("the migration moves waiting images into the queues of their organizations", async () => {
      const user = await world.user();
      const group = (await world.must(GroupsService.method.createGroup, { group: { name: "other" } }, user.token)).uid;
      using one = await createImageRepo(world);
      using other = await createImageRepo(world, user.token, group);
      const layer = await layerOf({ [APK]: apkDatabase("musl 1.2.5-r9") });
      const [read, pending] = [(await one.push([layer])).digest, (await one.push([layer])).digest];
      const theirs = (await other.push([layer])).digest;
      await claim();
      const expected = (await waiting()).filter(([, digest]) => digest !== read);
      assert.deepEqual(
        expected.map(([orgUid, digest]) => [orgUid, digest]).sort(),
        [
          [world.orgUid, pending],
          [group, theirs],
        ].sort(),
      );
      await world.store.transaction(async (db) => {
        const statements = [
          "drop index image_scan_by_lease_time",
          `alter table image_scan add column due_time ${db.dialect.types.text}`,
          "create index image_scan_by_due_time on image_scan (due_time) where due_time is not null",
          "update image_scan set due_time = (select min(due_time) from image_wait w where w.digest = image_scan.digest)",
          "drop table image_wait",
          "drop table image_turn",
        ];
        for (const statement of statements) await sql.raw(statement).execute(db);
        await sql`update image_scan set state = 'done', due_time = null where digest = ${read}`.execute(db);
        for (const statement of readingTurns.statements(db.dialect)) await sql.raw(statement).execute(db);
      });
      assert.deepEqual(await waiting(), expected);
    });
  },
  // Without collection, which would delete most of these images, as no repo has them.
  { env: { HOLT_IMAGE_PACKAGES: "off", HOLT_GC_INTERVAL: "0" } },
);
