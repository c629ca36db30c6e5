import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type CachedFeed, FeedCache } from "./feed-cache.ts";

describe("FeedCache", () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "holt-feeds-"));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  async function put(cache: FeedCache, group: string, size = 100, before?: CachedFeed): Promise<CachedFeed> {
    const { names } = await cache.write(group, "osv", async ({ data }) => data.writeFile("x".repeat(size)));
    const moment = { group, format: "osv", token: "", context: "", built: "", sum: "", entries: 0, advisories: 0, lastModified: "" };
    const feed = { ...moment, size, ...names };
    await cache.put(feed, before);
    return feed;
  }
  const files = async () => (await readdir(join(dataDir, "feeds"), { recursive: true })).filter((name) => name.includes("."));

  it("FeedCache keeps one feed per format and group", async () => {
    const cache = new FeedCache(dataDir);
    const first = await put(cache, "a");
    const second = await put(cache, "a", 50, first);
    assert.deepEqual(await cache.read("a", "osv"), second);
    assert.equal((await files()).length, 3);
    assert.equal(await cache.read("b", "osv"), undefined);
    assert.equal(await cache.read("a", "csaf"), undefined);
  });

  it("leaves no files behind if a feed cannot be built", async () => {
    const cache = new FeedCache(dataDir);
    await assert.rejects(
      cache.write("a", "osv", () => Promise.reject(new Error("no"))),
      /no/,
    );
    assert.deepEqual(await files(), []);
  });

  it("removes the feeds of deleted groups, and stale files without a feed", async () => {
    const cache = new FeedCache(dataDir);
    await put(cache, "gone");
    const kept = await put(cache, "kept");
    for (const name of ["osv-lost.data", `${kept.data}.gz-lost.new`]) {
      const lost = cache.pathOf(kept, name);
      await writeFile(lost, "x");
      await utimes(lost, 0, 0);
    }
    await writeFile(cache.pathOf(kept, "osv-being-made.data"), "x");
    await cache.sweep(async (groups) => new Set(groups.filter((group) => group === "kept")));
    assert.equal(await cache.read("gone", "osv"), undefined);
    assert.deepEqual(await cache.read("kept", "osv"), kept);
    assert.deepEqual(
      (await files()).filter((name) => /lost|being-made/.test(name)).map((name) => name.split("/")[1]),
      ["osv-being-made.data"],
    );
    assert.equal((await files()).length, 4);
  });

  it("removes the feeds that were requested longest ago when it exceeds its size limit", async () => {
    const cache = new FeedCache(dataDir, 3000);
    const feeds = [];
    for (const [i, group] of ["a", "b", "c"].entries()) {
      const feed = await put(cache, group, 1000);
      await utimes(cache.pathOf(feed, "osv.json"), i + 1, i + 1);
      feeds.push(feed);
    }
    await cache.touch(feeds[0] as CachedFeed);
    await cache.sweep(async (groups) => new Set(groups));
    const left = await Promise.all(["a", "b", "c"].map((group) => cache.read(group, "osv")));
    assert.deepEqual(
      left.map((feed) => feed?.group),
      ["a", undefined, "c"],
    );
  });
});
