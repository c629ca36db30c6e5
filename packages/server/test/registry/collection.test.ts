/**
 * Tests collection on both stores: what stays, what is deleted and when, the preview, and that an interrupted run is
 * resumed.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, beforeEach, describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { type BlobStore, NoSuchBlob } from "../../src/blobs/store.ts";
import { countOf } from "../../src/db/resource-count.ts";
import type { Store } from "../../src/db/store.ts";
import type { CollectionReport } from "../../src/registry/collection/gc.ts";
import type { Garbage } from "../../src/registry/collection/walk-phases.ts";
import { upsertTag } from "../../src/registry/content/tags.ts";
import fc from "../harness/property.ts";
import { createStorageFixture, type Descriptor, GRACE_MS, type StorageFixture } from "../harness/registry/storage-fixture.ts";
import { giveTime } from "../harness/wait.ts";

const caller = { repository: "my-org/nginx", identityUid: "somebody" };

for (const kind of ["sqlite", "postgres"] as const) {
  describe(`garbage collection on ${kind}`, () => {
    let world: StorageFixture;
    let repo: string;
    before(async () => {
      world = await createStorageFixture(kind);
    });
    after(() => world[Symbol.asyncDispose]());
    beforeEach(async () => {
      repo = await world.newRepo();
    });

    const manifests = async () =>
      new Set(
        (await world.store.reader.selectFrom("manifest").select("digest").where("repo_uid", "=", repo).execute()).map((m) => m.digest),
      );
    const links = async () =>
      new Set(
        (await world.store.reader.selectFrom("repo_blob").select("digest").where("repo_uid", "=", repo).execute()).map((l) => l.digest),
      );
    const hasBytes = async (blob: Descriptor) => (await world.blobs.stat(blob.digest)) !== undefined;
    const hasRow = async ({ digest }: Descriptor) =>
      (await world.store.reader.selectFrom("blob").select("digest").where("digest", "=", digest).execute()).length > 0;
    async function collect(): Promise<CollectionReport> {
      const report = await world.collector.run();
      assert.ok(report?.finished);
      return report;
    }
    /** Collects after the grace period of everything that existed before. */
    async function collectAfterGrace(): Promise<CollectionReport> {
      world.clock.advance(GRACE_MS + 1000);
      return collect();
    }
    const nothing = { uploads: 0, manifests: 0, links: 0, blobs: 0, bytes: 0, finished: true, failures: 0 };

    test("a tagged manifest stays, with everything that it refers to and everything that refers to it", async () => {
      const children = [await world.pushImage(repo), await world.pushImage(repo)];
      const inner = await world.pushIndex(repo, { manifests: children });
      const outer = await world.pushIndex(repo, { tag: "latest", manifests: [inner] });
      const signature = await world.pushImage(repo, { subject: outer });
      const ofSignature = await world.pushImage(repo, { subject: signature });
      const ofChild = await world.pushImage(repo, { subject: children[1]! });
      await collectAfterGrace();
      const all = [...children, inner, outer, signature, ofSignature, ofChild];
      assert.deepEqual(await manifests(), new Set(all.map(({ digest }) => digest)));
      assert.equal((await links()).size, 2 * 5);
      assert.deepEqual(await collectAfterGrace(), nothing);
      await world.deleteTag(repo, "latest");
      const report = await collectAfterGrace();
      assert.deepEqual(await manifests(), new Set());
      assert.deepEqual({ ...report, bytes: 0 }, { ...nothing, manifests: 7, links: 10, blobs: 10 });
      assert.ok(report.bytes > 5 * 500);
    });

    test("an unreferenced manifest stays for a grace period after it lost its last reference", async () => {
      const layer = await world.pushBlob(repo);
      const image = await world.pushImage(repo, { tag: "a", layers: [layer] });
      const unused = await world.pushBlob(repo);
      world.clock.advance(GRACE_MS / 2);
      await world.pushImage(repo, { tag: "a" });
      const late = await world.pushBlob(repo);
      await collect();
      assert.ok(await hasRow(unused));
      world.clock.advance(GRACE_MS / 2 + 1000);
      await collect();
      assert.ok(!(await hasRow(unused)) && !(await hasBytes(unused)));
      assert.ok((await manifests()).has(image.digest) && (await hasBytes(layer)) && (await hasBytes(late)));
      world.clock.advance(GRACE_MS / 2);
      await collect();
      assert.ok(!(await manifests()).has(image.digest) && !(await hasBytes(layer)) && !(await hasBytes(late)));
    });

    test("a tag without a digest keeps nothing and stops no collection", async () => {
      const kept = await world.pushImage(repo, { tag: "latest" });
      await world.pushImage(repo);
      const tag = { repoUid: repo, name: "later", digest: undefined, now: world.clock.now(), actor: "" };
      await world.store.transaction((db) => upsertTag(db, tag));
      await collectAfterGrace();
      assert.deepEqual(await manifests(), new Set([kept.digest]));
      await world.deleteTag(repo, "later");
      await collectAfterGrace();
      assert.deepEqual(await manifests(), new Set([kept.digest]));
    });

    test("the blobs of a deleted manifest stay for a grace period", async () => {
      const layer = await world.pushBlob(repo);
      const image = await world.pushImage(repo, { tag: "a", layers: [layer] });
      await collectAfterGrace();
      await world.deleteManifest(repo, image.digest);
      await collect();
      assert.ok((await links()).has(layer.digest));
      await collectAfterGrace();
      assert.equal((await links()).size, 0);
      assert.ok(!(await hasBytes(layer)));
    });

    test("a manifest with many tags is deleted in several transactions, each with few of its tags", async (t) => {
      const { digest } = await world.pushImage(repo, { tag: "t" });
      await world.pushImage(repo, { tag: "other" });
      await world.store.transaction(async (db) => {
        const now = world.clock.now();
        for (let i = 0; i < 600; i++) await upsertTag(db, { repoUid: repo, name: `t${i}`, digest, now, actor: "" });
      });
      const transaction = t.mock.method(world.store, "transaction");
      await world.deleteManifest(repo, digest);
      assert.equal(transaction.mock.callCount(), 2);
      const tags = await world.store.reader.selectFrom("tag").select("name").where("parent", "=", repo).execute();
      assert.deepEqual(tags, [{ name: "other" }]);
      assert.equal((await countOf(world.store.reader, "tag", repo)).below, 1);
      assert.ok(!(await manifests()).has(digest));
    });

    test("tags of a digest that was never pushed stay when its deletion is refused", async () => {
      const digest = digestOf(randomBytes(9));
      await world.store.transaction(async (db) => {
        const now = world.clock.now();
        for (let i = 0; i < 501; i++) await upsertTag(db, { repoUid: repo, name: `t${i}`, digest, now, actor: "" });
      });
      await assert.rejects(world.deleteManifest(repo, digest), { code: "MANIFEST_UNKNOWN" });
      assert.equal((await countOf(world.store.reader, "tag", repo)).below, 501);
    });

    test("a referrer of a missing manifest is deleted after its grace period", async () => {
      const absent = { mediaType: "application/vnd.oci.image.manifest.v1+json", digest: digestOf(randomBytes(9)), size: 9 };
      const referrer = await world.pushImage(repo, { subject: absent });
      await collect();
      assert.ok((await manifests()).has(referrer.digest));
      await collectAfterGrace();
      assert.equal((await manifests()).size, 0);
    });

    test("an index that is the subject of its own child is collected like any other", async () => {
      const subject = await world.pushImage(repo);
      const index = await world.pushIndex(repo, { manifests: [subject], subject });
      const kept = await world.pushIndex(repo, { tag: "x", manifests: [await world.pushImage(repo)] });
      await collectAfterGrace();
      assert.ok(!(await manifests()).has(index.digest));
      assert.ok((await manifests()).has(kept.digest));
    });

    test("a blob stays as long as one repo links to it", async () => {
      const other = await world.newRepo();
      const layer = await world.pushBlob(repo);
      await world.pushImage(repo, { layers: [layer] });
      assert.deepEqual(await world.uploads.mount(repo, other, layer.digest), { size: layer.size });
      await world.pushImage(other, { tag: "a", layers: [layer] });
      await collectAfterGrace();
      assert.equal((await links()).size, 0);
      assert.equal(await world.uploads.findBlob(repo, layer.digest), undefined);
      assert.deepEqual(await world.uploads.findBlob(other, layer.digest), { size: layer.size });
      assert.ok(await hasBytes(layer));
    });

    test("the blobs of a deleted repo are deleted in the next run", async () => {
      const layer = await world.pushBlob(repo);
      await world.pushImage(repo, { layers: [layer] });
      await world.store.transaction((db) => db.deleteFrom("repo").where("uid", "=", repo).execute());
      await collect();
      assert.ok(!(await hasRow(layer)) && !(await hasBytes(layer)));
    });

    test("a blob that a push was told exists stays for another grace period", async () => {
      const layer = await world.pushBlob(repo);
      world.clock.advance(GRACE_MS - 60_000);
      assert.deepEqual(await world.uploads.findBlob(repo, layer.digest, true), { size: layer.size });
      world.clock.advance(GRACE_MS - 60_000);
      await collect();
      assert.ok(await hasBytes(layer));
      assert.deepEqual(await world.uploads.findBlob(repo, layer.digest), { size: layer.size });
      world.clock.advance(120_000);
      await collect();
      assert.equal(await world.uploads.findBlob(repo, layer.digest), undefined);
    });

    test("abandoned uploads are deleted, with and without bytes", async () => {
      const [empty, begun, recent] = [
        await world.uploads.begin({ repo, ...caller }),
        await world.uploads.begin({ repo, ...caller }),
        await world.uploads.begin({ repo, ...caller }),
      ];
      for (const upload of [begun, recent]) await world.uploads.append(upload, Readable.from([Buffer.from("x")]), 0);
      world.clock.advance(GRACE_MS + 1000);
      const soon = new Date(world.clock.now());
      await utimes(join(world.dataDir, "uploads", recent.uid), soon, soon);
      assert.equal((await collect()).uploads, 2);
      for (const { uid } of [empty, begun])
        await assert.rejects(world.uploads.find({ repo, ...caller }, uid), /BLOB_UPLOAD_UNKNOWN|the upload does not exist/);
      assert.deepEqual(await readdir(join(world.dataDir, "uploads")), [recent.uid]);
      await world.uploads.cancel(recent);
    });

    test("files that were never linked are deleted when they are old", async () => {
      const content = randomBytes(700);
      await world.blobs.append("interrupted", Readable.from([content]), 0);
      await world.blobs.commit("interrupted", digestOf(content));
      await world.blobs.abort("interrupted");
      // The world's clock is far ahead of the file's time by now.
      const now = world.clock.now();
      const path = join(world.dataDir, "blobs", "sha256", digestOf(content).slice(7, 9), digestOf(content).slice(7));
      await utimes(path, now, now);
      assert.deepEqual(await collect(), nothing);
      const report = await collectAfterGrace();
      assert.deepEqual(report, { ...nothing, blobs: 1, bytes: 700 });
      await assert.rejects(world.blobs.read(digestOf(content)), NoSuchBlob);
      await world.pushBlob(repo, content);
      assert.ok((await links()).has(digestOf(content)));
    });

    test("a preview lists exactly what the next run deletes, and deletes nothing", async () => {
      await collectAfterGrace();
      const other = await world.newRepo();
      const shared = await world.pushBlob(repo);
      const image = await world.pushImage(repo, { layers: [shared, await world.pushBlob(repo)] });
      await world.pushIndex(repo, { manifests: [image] });
      await world.pushImage(repo, { tag: "kept", layers: [await world.pushBlob(repo)] });
      await world.uploads.mount(repo, other, shared.digest);
      await world.pushBlob(other);
      await world.uploads.begin({ repo, ...caller });
      world.clock.advance(GRACE_MS + 1000);
      const rowsBefore = [await manifests(), await links()];
      const [told, gone]: [Garbage[], Garbage[]] = [[], []];
      const promised = await world.otherCollector({ batchSize: 2 }).preview((garbage) => told.push(garbage));
      assert.deepEqual([await manifests(), await links()], rowsBefore);
      const report = await world.otherCollector({ batchSize: 3 }).run(undefined, (garbage) => gone.push(garbage));
      const sorted = (list: Garbage[]) => list.map((garbage) => JSON.stringify(garbage)).sort();
      assert.deepEqual(sorted(told), sorted(gone));
      assert.deepEqual(promised, report);
      assert.deepEqual({ ...report, bytes: 0 }, { ...nothing, uploads: 1, manifests: 2, links: 5, blobs: 4 });
    });

    test("only one run is active at a time, and an interrupted run is resumed and followed by a complete one", async () => {
      await Promise.all(Array.from({ length: 40 }, () => world.pushImage(repo)));
      world.clock.advance(GRACE_MS + 1000);
      const stop = new AbortController();
      let other: Promise<CollectionReport | undefined> | undefined;
      // The first run cannot end before the second was refused.
      const store: Store = new Proxy(world.store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          if (name !== "transaction") return value.bind(target);
          return async (...args: Parameters<Store["transaction"]>) => {
            await other;
            return target.transaction(...args);
          };
        },
      });
      let seen = 0;
      const first = await world.otherCollector({ store, batchSize: 2 }).run(stop.signal, () => {
        other ??= world.collector.run();
        if (++seen >= 5) stop.abort();
      });
      assert.equal(await other, undefined);
      assert.equal(first?.finished, false);
      assert.ok(first.manifests >= 5 && first.manifests < 40);
      const second = await collect();
      assert.equal(second.manifests, 40);
      assert.equal(second.blobs, 80);
      assert.deepEqual(await collect(), nothing);
    });

    test("a blob that is pushed while it is being deleted exists afterwards, or is uploaded again", async () => {
      const content = randomBytes(2000);
      const digest = digestOf(content);
      for (const moment of ["before its bytes go", "after its bytes went"] as const) {
        await world.pushBlob(repo, content);
        world.clock.advance(GRACE_MS + 1000);
        let pushed: Promise<unknown> | undefined;
        const blobs: BlobStore = new Proxy(world.blobs, {
          get(target, name) {
            if (name !== "remove") return Reflect.get(target, name).bind(target);
            return async (removed: string) => {
              if (moment === "after its bytes went") await target.remove(removed);
              if (removed === digest) {
                pushed = world.pushBlob(repo, content);
                await giveTime(30);
              }
              await target.remove(removed);
            };
          },
        });
        await world.otherCollector({ blobs }).run();
        assert.ok(pushed !== undefined);
        await pushed;
        assert.deepEqual(await world.uploads.findBlob(repo, digest), { size: 2000 }, moment);
        assert.equal((await world.blobs.stat(digest))?.size, 2000, moment);
        await collect();
        assert.equal((await world.blobs.stat(digest))?.size, 2000, moment);
      }
    });

    test("a deletion whose server was killed delays a push only until its deadline", async () => {
      const content = randomBytes(100);
      const blob = await world.pushBlob(repo, content);
      const deadline = new Date(Date.now() + 400).toISOString();
      await world.store.transaction(async (db) => {
        await db.deleteFrom("repo_blob").where("digest", "=", blob.digest).execute();
        await db.updateTable("blob").set({ removal_time: deadline }).where("digest", "=", blob.digest).execute();
      });
      await world.blobs.remove(blob.digest);
      await world.pushBlob(repo, content);
      assert.ok(new Date().toISOString() >= deadline, "the push did not wait until the deadline");
      assert.ok(await hasBytes(blob));
      assert.ok((await links()).has(blob.digest));
    });

    test("collection keeps exactly the content that a tag reaches, for any graph of manifests", async () => {
      const property = fc.asyncProperty(
        fc.array(fc.record({ holds: fc.array(fc.nat(20), { maxLength: 3 }), subject: fc.option(fc.nat(20)), isTagged: fc.boolean() }), {
          minLength: 1,
          maxLength: 9,
        }),
        fc.integer({ min: 1, max: 5 }),
        async (plan, batchSize) => {
          repo = await world.newRepo();
          const pushed: Descriptor[] = [];
          const holds = new Map<string, Set<string>>();
          const hold = (holder: string, held: string) => holds.set(holder, (holds.get(holder) ?? new Set()).add(held));
          const tagged: string[] = [];
          for (const [i, { holds: wanted, subject, isTagged }] of plan.entries()) {
            const children = i === 0 ? [] : wanted.map((n) => pushed[n % i]!);
            const about = i === 0 || subject === null ? undefined : pushed[subject % i];
            const options = { ...(isTagged && { tag: `t${i}` }), ...(about && { subject: about }) };
            const manifest =
              children.length === 0
                ? await world.pushImage(repo, options)
                : await world.pushIndex(repo, { ...options, manifests: children });
            pushed.push(manifest);
            for (const child of children) hold(manifest.digest, child.digest);
            if (about) hold(about.digest, manifest.digest);
            if (isTagged) tagged.push(manifest.digest);
          }
          const expected = new Set<string>();
          for (let digest = tagged.pop(); digest !== undefined; digest = tagged.pop()) {
            if (expected.has(digest)) continue;
            expected.add(digest);
            tagged.push(...(holds.get(digest) ?? []));
          }
          world.clock.advance(GRACE_MS + 1000);
          await world.otherCollector({ batchSize }).run();
          assert.deepEqual(await manifests(), expected);
        },
      );
      await fc.assert(property, { numRuns: kind === "sqlite" ? 15 : 5 });
    });
  });
}
