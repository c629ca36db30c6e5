import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Store } from "../../db/store.ts";
import { createLog } from "../../lib/log.ts";
import { createFeeds } from "./feeds.ts";

it("servers that share a data folder can compress the same feed at the same time", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-feeds-"));
  try {
    const path = join(dataDir, "feed.data");
    const bytes = randomBytes(4_000_000);
    await writeFile(path, bytes);
    const feed = { path, size: bytes.length, sum: "", lastModified: "" };
    const options = { store: {} as Store, dataDir, clock: { now: () => new Date() }, log: createLog("silent"), baseUrl: "" };
    await using one = createFeeds(options);
    await using other = createFeeds(options);
    for (const packed of await Promise.all([one.gzip(feed), other.gzip(feed)])) {
      const content = await readFile(packed.path);
      assert.equal(content.length, packed.size);
      assert.ok(gunzipSync(content).equals(bytes));
    }
    assert.deepEqual((await readdir(dataDir)).sort(), ["feed.data", "feed.data.gz"]);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
