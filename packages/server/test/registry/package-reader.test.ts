/**
 * Tests the queue of manifests to read on both stores: several servers, killed servers, failing disks, and manifests
 * from before the queue.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after, before, beforeEach, describe, test } from "node:test";
import type { BlobStore } from "../../src/blobs/store.ts";
import type { Store } from "../../src/db/store.ts";
import { LostLease } from "../../src/jobs/worker.ts";
import { createLog } from "../../src/lib/log.ts";
import { rootOf } from "../../src/lib/uid.ts";
import { findUnread } from "../../src/registry/packages/find-unread.ts";
import { removeLostScans } from "../../src/registry/packages/lost-scans.ts";
import { type PackageReader, startPackageReader } from "../../src/registry/packages/package-reader.ts";
import { createScanQueue } from "../../src/registry/packages/scan-queue.ts";
import type { ImageScanTable } from "../../src/registry/tables.ts";
import { APK, apkDatabase, layerOf } from "../harness/registry/image-content.ts";
import { LAYER } from "../harness/registry/registry-client.ts";
import { createStorageFixture, type Descriptor, GRACE_MS, type StorageFixture } from "../harness/registry/storage-fixture.ts";
import { until } from "../harness/wait.ts";

const MINUTE = 60_000;

for (const kind of ["sqlite", "postgres"] as const) {
  describe(`reading the packages of images on ${kind}`, () => {
    let world: StorageFixture;
    let repo: string;
    let count = 0;
    before(async () => {
      world = await createStorageFixture(kind);
    });
    after(() => world[Symbol.asyncDispose]());
    beforeEach(async () => {
      repo = await world.newRepo();
    });

    const start = (): PackageReader => startPackageReader({ ...world, log: createLog("silent") });
    async function pushImage(into = repo, packages: readonly string[] = [`package-${count++} 1-r0 origin`]): Promise<Descriptor> {
      const layer = await world.pushBlob(into, await layerOf({ [APK]: apkDatabase(...packages) }));
      return world.pushImage(into, { layers: [{ ...layer, mediaType: LAYER }] });
    }
    const scanOf = ({ digest }: Descriptor): Promise<ImageScanTable | undefined> =>
      world.store.reader.selectFrom("image_scan").selectAll().where("digest", "=", digest).executeTakeFirst();
    const isAwaited = async ({ digest }: Descriptor) =>
      (await world.store.reader.selectFrom("image_wait").select("org_uid").where("digest", "=", digest).execute()).length > 0;
    const namesOf = async ({ digest }: Descriptor) =>
      (await world.store.reader.selectFrom("image_package").select("name").where("digest", "=", digest).orderBy("name").execute()).map(
        ({ name }) => name,
      );
    async function settled(image: Descriptor): Promise<ImageScanTable> {
      let scan: ImageScanTable | undefined;
      await until(async () => {
        scan = await scanOf(image);
        return scan !== undefined && scan.state !== "pending" && !(await isAwaited(image));
      });
      return scan as unknown as ImageScanTable;
    }
    const originsIn = (repoUid: string) =>
      world.store.reader
        .selectFrom("package_origin")
        .select(["name", "origin"])
        .where("org_uid", "=", rootOf(repoUid))
        .orderBy("name")
        .execute();

    test("images that were pushed while no server was reading are read by the next one", async () => {
      const images = [await pushImage(), await pushImage()];
      assert.equal((await scanOf(images[0]!))?.state, "pending");
      await using _reader = start();
      for (const image of images) assert.equal((await settled(image)).package_count, 1);
    });

    test("every organization that has an image gets its package origins, even if it pushes the image later", async () => {
      await using reader = start();
      const image = await pushImage(repo, ["libssl3 3.3.2-r1 openssl", "musl 1.2.5-r9"]);
      reader.wake();
      await settled(image);
      const expected = [
        { name: "libssl3", origin: "openssl" },
        { name: "musl", origin: "musl" },
      ];
      assert.deepEqual(await originsIn(repo), expected);
      const later = await world.newRepo();
      assert.deepEqual(await originsIn(later), []);
      await pushSame(image, later);
      assert.equal((await scanOf(image))?.state, "done");
      reader.wake();
      await settled(image);
      assert.deepEqual(await originsIn(later), expected);
      const moved = await pushImage(repo, ["libssl3 3.5.0-r0 openssl-next"]);
      reader.wake();
      await settled(moved);
      assert.deepEqual((await originsIn(repo))[0], { name: "libssl3", origin: "openssl-next" });
    });

    /** Pushes the same bytes into another repo. */
    async function pushSame({ digest }: Descriptor, into: string): Promise<void> {
      const { content } = await world.store.reader
        .selectFrom("manifest")
        .select("content")
        .where("digest", "=", digest)
        .executeTakeFirstOrThrow();
      const { config, layers } = JSON.parse(Buffer.from(content).toString()) as { config: Descriptor; layers: Descriptor[] };
      for (const blob of [config, ...layers]) {
        const chunks = [];
        for await (const chunk of await world.blobs.read(blob.digest)) chunks.push(chunk);
        await world.pushBlob(into, Buffer.concat(chunks));
      }
      await world.pushContent(into, Buffer.from(content));
    }

    test("an image is claimed by one server at a time, and by the next one after the lease expired", async () => {
      const images = [await pushImage(), await pushImage(), await pushImage()];
      const servers = Array.from({ length: 4 }, () => createScanQueue(world.store, world.clock));
      const found = await Promise.all(servers.map(async (queue) => ({ queue, claim: await queue.claim() })));
      const claims = found.flatMap(({ queue, claim }) => (claim === undefined ? [] : [{ queue, claim }]));
      assert.deepEqual(new Set(claims.map(({ claim }) => claim.digest)), new Set(images.map(({ digest }) => digest)));
      assert.equal(claims.length, 3);
      const [first] = claims;
      assert.ok(first !== undefined);
      world.clock.advance(50_000);
      assert.equal(await first.queue.renew(first.claim), true);
      world.clock.advance(30_000);
      const other = createScanQueue(world.store, world.clock);
      const again = [await other.claim(), await other.claim(), await other.claim()];
      assert.deepEqual(
        again.map((claim) => claim?.attempts),
        [2, 2, undefined],
      );
      world.clock.advance(2 * MINUTE);
      const taken = await createScanQueue(world.store, world.clock).claim();
      const lost = claims.find(({ claim }) => claim.digest === taken?.digest);
      assert.ok(lost !== undefined);
      assert.equal(await lost.queue.renew(lost.claim), false);
      await assert.rejects(
        world.store.transaction((db) => lost.queue.assertHeld(db, lost.claim)),
        LostLease,
      );
      await lost.queue.finish(lost.claim, { state: "failed", distribution: "", error: "too late", packageCount: 0 });
      assert.equal((await scanOf({ digest: lost.claim.digest } as Descriptor))?.state, "pending");
      world.clock.advance(2 * MINUTE);
      await using _reader = start();
      for (const image of images) assert.equal((await settled(image)).state, "done");
    });

    test("two servers read each of many images once", async () => {
      const images = [];
      for (let n = 0; n < 20; n++) images.push(await pushImage());
      const digests = new Set(images.map(({ digest }) => digest));
      const reads = new Map<string, number>();
      const log = createLog("silent");
      const info = (fields: { digest?: string }) => {
        if (fields.digest !== undefined && digests.has(fields.digest)) reads.set(fields.digest, (reads.get(fields.digest) ?? 0) + 1);
      };
      const telling = Object.assign(Object.create(log), { info }) as typeof log;
      await using _one = startPackageReader({ ...world, log: telling });
      // On SQLite there is only one server.
      await using _two = kind === "postgres" ? startPackageReader({ ...world, log: telling }) : undefined;
      for (const image of images) await settled(image);
      assert.deepEqual(
        [...reads.values()],
        Array.from({ length: 20 }, () => 1),
      );
    });

    test("a killed server counts as an attempt, and an image that kills every server is given up", async () => {
      const image = await pushImage();
      const queue = createScanQueue(world.store, world.clock);
      for (let attempt = 1; attempt <= 5; attempt++) {
        assert.equal((await queue.claim())?.attempts, attempt);
        world.clock.advance(2 * MINUTE);
      }
      await using _reader = start();
      const scan = await settled(image);
      assert.deepEqual([scan.state, scan.error], ["failed", "reading it was cut short each time"]);
    });

    test("a reading that fails on the disk is retried five times, and again after the next push", async () => {
      const image = await pushImage();
      const { digest } = await world.store.reader
        .selectFrom("manifest_reference")
        .innerJoin("blob", "blob.digest", "manifest_reference.digest")
        .select("blob.digest as digest")
        .where("manifest_digest", "=", image.digest)
        .orderBy("blob.size", "desc")
        .executeTakeFirstOrThrow();
      const path = join(world.dataDir, "blobs", "sha256", digest.slice(7, 9), digest.slice(7));
      const content = await readFile(path);
      await rm(path);
      await mkdir(path);
      await using reader = start();
      for (let attempt = 1; attempt <= 5; attempt++) {
        await until(async () => {
          const scan = await scanOf(image);
          return scan?.attempts === attempt && scan.lease_time === null;
        });
        const scan = await scanOf(image);
        assert.equal(scan?.state, attempt === 5 ? "failed" : "pending");
        assert.match(scan?.error ?? "", /^it could not be read: /);
        world.clock.advance(60 * MINUTE);
        reader.wake();
      }
      await rm(path, { recursive: true });
      await writeFile(path, content);
      const later = await world.newRepo();
      await pushSame(image, later);
      reader.wake();
      assert.equal((await settled(image)).state, "done");
    });

    test("a reading that exceeds the time limit fails at once and is not retried", async () => {
      const image = await pushImage();
      await using _reader = startPackageReader({ ...world, log: createLog("silent"), maxTimeMs: 1 });
      const scan = await settled(image);
      assert.deepEqual([scan.state, scan.attempts, scan.error], ["failed", 0, "reading it takes longer than 5 minutes"]);
    });

    test("a server that shuts down while it reads releases its claim and closes the content", async () => {
      const image = await pushImage(repo, ["openssl 3.3.2-r1 openssl"]);
      const opening = Promise.withResolvers<void>();
      const stopped = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<Readable>();
      const read: BlobStore["read"] = async (...args) => {
        opening.resolve();
        await stopped.promise;
        const stream = await world.blobs.read(...args);
        opened.resolve(stream);
        return stream;
      };
      const blobs = Object.assign(Object.create(world.blobs), { read }) as BlobStore;
      const reader = startPackageReader({ ...world, blobs, log: createLog("silent") });
      await opening.promise;
      await reader[Symbol.asyncDispose]();
      const { lease_time: lease, attempts } = (await scanOf(image)) ?? {};
      assert.deepEqual([lease, attempts], [null, 0]);
      stopped.resolve();
      const stream = await opened.promise;
      await until(() => stream.destroyed);
      await using _next = start();
      assert.equal((await settled(image)).package_count, 1);
    });

    test("manifests from before the queue are found in batches, and an interrupted search continues where it stopped", async () => {
      const images: Descriptor[] = [];
      for (let n = 0; n < 60; n++) images.push(await pushImage());
      const plain = await world.pushImage(repo);
      const other = await world.newRepo();
      await pushSame(images[2]!, other);
      await world.store.transaction(async (db) => {
        await db.deleteFrom("image_scan").execute();
        await db.deleteFrom("server_state").where("name", "=", "image_scan_search").execute();
        await db
          .updateTable("manifest")
          .set({ content: Buffer.from("{}") })
          .where("digest", "=", images[0]?.digest ?? "")
          .execute();
      });
      let pieces = 0;
      for (
        let due = await findUnread(world.store, world.parsers, new Date());
        due !== undefined && due <= new Date();
        due = await findUnread(world.store, world.parsers, new Date())
      )
        pieces++;
      assert.ok(pieces > 0);
      for (const image of images.slice(1)) assert.equal((await scanOf(image))?.state, "pending");
      assert.equal(await scanOf(images[0]!), undefined);
      assert.equal(await scanOf(plain), undefined);
      // A server of the previous version pushes this in the meantime.
      await world.store.transaction((db) =>
        db
          .deleteFrom("image_scan")
          .where("digest", "=", images[1]?.digest ?? "")
          .execute(),
      );
      const later = new Date(Date.now() + 2 * 60 * MINUTE);
      while ((await findUnread(world.store, world.parsers, later)) !== undefined);
      assert.equal((await scanOf(images[1]!))?.state, "pending");
      await using _reader = start();
      for (const image of [images[2]!, images.at(-1)!]) assert.equal((await settled(image)).state, "done");
      assert.equal((await originsIn(other)).length, 1);
    });

    test("collection deletes exactly the packages of manifests that no repo has any more", async () => {
      await using reader = start();
      const [gone, kept, shared] = [
        await pushImage(
          repo,
          Array.from({ length: 2500 }, (_, n) => `p${n} 1-r0`),
        ),
        await pushImage(),
        await pushImage(),
      ];
      const other = await world.newRepo();
      await pushSame(shared, other);
      reader.wake();
      for (const image of [gone, kept, shared]) await settled(image);
      await world.deleteManifest(repo, gone.digest);
      await world.deleteManifest(repo, shared.digest);
      await world.collector.run();
      assert.equal(await scanOf(gone), undefined);
      assert.deepEqual(await namesOf(gone), []);
      for (const image of [kept, shared]) assert.equal((await namesOf(image)).length, 1);
      world.clock.advance(GRACE_MS + MINUTE);
      await world.collector.run();
      for (const image of [kept, shared]) assert.equal(await scanOf(image), undefined);
    });

    test("an image that is pushed again while collection deletes its packages is read again", async () => {
      await using reader = start();
      const names = Array.from({ length: 2500 }, (_, n) => `p${n} 1-r0`);
      // The packages are deleted in two chunks, so before the third transaction all are gone.
      for (const before of [2, 3]) {
        const image = await pushImage(repo, [...names, `again-${before} 1-r0`]);
        reader.wake();
        await settled(image);
        const { content } = await world.store.reader
          .selectFrom("manifest")
          .select("content")
          .where("digest", "=", image.digest)
          .executeTakeFirstOrThrow();
        await world.deleteManifest(repo, image.digest);
        let count = 0;
        const transaction: Store["transaction"] = async (body, ...rest) => {
          if (++count === before) await world.pushContent(repo, Buffer.from(content));
          return world.store.transaction(body, ...rest);
        };
        await removeLostScans({ ...world.store, transaction }, world.clock.now(), undefined);
        assert.equal(count, before);
        reader.wake();
        const scan = await settled(image);
        assert.deepEqual([scan.state, scan.package_count], ["done", 2501]);
        assert.equal((await namesOf(image)).length, 2501);
      }
    });
  });
}
