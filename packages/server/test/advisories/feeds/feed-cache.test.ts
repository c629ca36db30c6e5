/** Tests the cache of built feeds on a folder and on a bucket: which files it keeps, and which it removes. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import type { BuiltFeed } from "../../../src/advisories/feeds/feed-build.ts";
import { type CachedFeed, FeedCache, type StoredBuild } from "../../../src/advisories/feeds/feed-cache.ts";
import { digestOf } from "../../../src/blobs/digest.ts";
import { createBlobRemoval } from "../../../src/blobs/removal.ts";
import type { BlobStore } from "../../../src/blobs/store.ts";
import { openDatabase } from "../../../src/cli/open-installation.ts";
import type { Store } from "../../../src/db/store.ts";
import { blobReferences } from "../../../src/domains.ts";
import { createLog } from "../../../src/lib/log.ts";
import { type BlobPlace, createFolderPlace, createS3Place } from "../../harness/blobs/blob-stores.ts";
import { createManualClock, type ManualClock } from "../../harness/manual-clock.ts";

const LONGER_THAN_READERS_HAVE_MS = 301_000;

for (const [name, createPlace] of [
  ["a folder", createFolderPlace],
  ["S3", () => createS3Place()],
] as const) {
  describe(`the cache of feeds in ${name}`, () => {
    let place: BlobPlace;
    let blobs: BlobStore;
    let folder: string;
    before(async () => {
      place = await createPlace();
      blobs = place.open();
      folder = await mkdtemp(join(tmpdir(), "holt-feeds-"));
    });
    after(async () => {
      await place[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });

    let store: Store;
    let clock: ManualClock;
    let scratch: string;
    afterEach(() => store[Symbol.asyncDispose]());
    beforeEach(async () => {
      const dataDir = await mkdtemp(join(folder, "data-"));
      scratch = join(dataDir, "feeds");
      store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
      clock = createManualClock();
    });

    /** The cache as one more server has it. */
    function open(maxBytes?: number): FeedCache {
      const removal = createBlobRemoval({ store, blobs, references: blobReferences });
      return new FeedCache({ store, blobs, removal, clock, scratch, ...(maxBytes !== undefined && { maxBytes }) });
    }

    async function write(cache: FeedCache, group: string, content = randomBytes(1000)): Promise<StoredBuild> {
      const stored = await cache.write(group, async ({ data, index }) => {
        await data.writeFile(content);
        await index.writeFile(`index of ${group}`);
        return { sum: "", size: content.length, entries: 0, advisories: 0, newest: "" } satisfies BuiltFeed;
      });
      return stored as StoredBuild;
    }

    async function put(cache: FeedCache, group: string, content = randomBytes(1000)): Promise<CachedFeed> {
      const { made, ...files } = await write(cache, group, content);
      const feed = { group, format: "osv", token: "", context: "", built: "", ...made, ...files, lastModified: "" };
      const { newest: _newest, ...cached } = feed;
      await cache.put(cached);
      return cached;
    }

    const isStored = async (feed: CachedFeed) => (await blobs.stat(feed.data.digest)) !== undefined;

    it("every server reads the one feed that a group has in a format", async () => {
      const [one, other] = [open(), open()];
      await put(one, "a");
      const second = await put(one, "a");
      assert.deepEqual(await other.read("a", "osv"), second);
      assert.equal(await other.read("b", "osv"), undefined);
      assert.equal(await other.read("a", "csaf"), undefined);
      const content = await other.withFiles(second, async ({ data, index }) => [await data.readFile(), await index.readFile("utf8")]);
      assert.deepEqual([digestOf(content?.[0] as Buffer), content?.[1]], [second.data.digest, "index of a"]);
    });

    it("a build that fails or stores nothing leaves no files behind", async () => {
      const cache = open();
      await assert.rejects(
        cache.write("a", () => Promise.reject(new Error("no"))),
        /no/,
      );
      assert.equal(await cache.write("a", async () => undefined), undefined);
      assert.deepEqual(await readdir(scratch), []);
      assert.deepEqual(await store.reader.selectFrom("feed_file").selectAll().execute(), []);
    });

    it("files of an earlier build stay until its readers had time to end", async () => {
      const cache = open();
      const [first, kept] = [await put(cache, "a"), await put(cache, "kept")];
      clock.advance(LONGER_THAN_READERS_HAVE_MS);
      const second = await put(cache, "a");
      await cache.sweep();
      assert.deepEqual(await Promise.all([first, second, kept].map(isStored)), [true, true, true]);
      clock.advance(LONGER_THAN_READERS_HAVE_MS);
      await cache.sweep();
      assert.deepEqual(await Promise.all([first, second, kept].map(isStored)), [false, true, true]);
      assert.equal(await cache.withFiles(first, async () => "files"), undefined);
    });

    it("an earlier build stays if the current one has the same content", async () => {
      const cache = open();
      const content = randomBytes(500);
      await put(cache, "a", content);
      const second = await put(cache, "a", content);
      clock.advance(LONGER_THAN_READERS_HAVE_MS);
      await cache.sweep();
      assert.ok(await isStored(second));
    });

    it("files that a killed server stored are removed, and cannot become a feed afterwards", async () => {
      const cache = open();
      const { made, ...files } = await write(cache, "a");
      await mkdir(join(scratch, "build-lost"));
      await utimes(join(scratch, "build-lost"), 0, 0);
      await writeFile(join(scratch, "being-written"), "");
      clock.advance(LONGER_THAN_READERS_HAVE_MS);
      await cache.sweep();
      assert.equal(await blobs.stat(files.data.digest), undefined);
      assert.deepEqual(await readdir(scratch), ["being-written"]);
      const feed = { group: "a", format: "osv", token: "", context: "", built: "", ...made, ...files, lastModified: "" };
      await assert.rejects(cache.put(feed), /removed while it was built/);
      assert.equal(await cache.read("a", "osv"), undefined);
    });

    it("the feeds that were requested longest ago are removed beyond the size limit", async () => {
      const cache = open(2500);
      const feeds: CachedFeed[] = [];
      for (const group of ["a", "b", "c"]) {
        feeds.push(await put(cache, group));
        clock.advance(61_000);
      }
      await cache.touch(feeds[0] as CachedFeed);
      await cache.sweep();
      assert.deepEqual(await Promise.all(["a", "b", "c"].map(async (group) => (await cache.read(group, "osv"))?.group)), [
        "a",
        undefined,
        "c",
      ]);
      assert.deepEqual(await Promise.all(feeds.map(isStored)), [true, false, true]);
    });

    it("servers can compress the same feed at the same time", async () => {
      const content = randomBytes(3_000_000);
      const [one, other] = [open(), open()];
      const feed = await put(one, "a", content);
      for (const { digest, size } of await Promise.all([one.gzip(feed), other.gzip(feed)])) {
        const chunks: Buffer[] = [];
        for await (const chunk of await blobs.read(digest)) chunks.push(chunk as Buffer);
        assert.equal(Buffer.concat(chunks).length, size);
        assert.ok(gunzipSync(Buffer.concat(chunks)).equals(content));
      }
      const packed = store.reader.selectFrom("feed_file").select("part").where("part", "=", "gzip");
      assert.equal((await packed.execute()).length, 1);
    });
  });
}
