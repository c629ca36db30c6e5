/** Facts about images in indexes: one push writes a bounded number of rows, and the rest follows in chunks. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { createChunkQueue } from "../../src/jobs/chunk-queue.ts";
import { factsQueue } from "../../src/registry/content/image-facts-queue.ts";
import { storeNames } from "../harness/harness.ts";
import { createStorageFixture, type Descriptor, INDEX_TYPE, type StorageFixture } from "../harness/registry/storage-fixture.ts";

const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const IMAGES = 60;
const INDEXES = 40;

for (const kind of storeNames) {
  describe(`facts about images on ${kind}`, () => {
    let world: StorageFixture;
    before(async () => {
      world = await createStorageFixture(kind);
    });
    after(() => world[Symbol.asyncDispose]());

    /** An image whose architecture is its number. */
    async function pushImage(repo: string, number: number): Promise<Descriptor> {
      const config = await world.pushBlob(repo, Buffer.from(JSON.stringify({ architecture: `arch${number}`, os: "linux" })));
      const manifest = { schemaVersion: 2, config: { ...config, mediaType: CONFIG_TYPE }, layers: [] };
      return world.pushContent(repo, Buffer.from(JSON.stringify(manifest)));
    }

    const annotated = (manifests: readonly Descriptor[], number: number) =>
      manifests.map((manifest) => ({ ...manifest, annotations: { number: String(number) } }));

    /** Works on the next chunk. @returns false if nothing waits */
    async function spreadNextFacts(): Promise<boolean> {
      const queue = createChunkQueue(factsQueue(world.store, world.clock));
      const image = await queue.claim("");
      if (image === undefined) return false;
      if (await queue.runChunk(image)) await queue.release(image);
      return true;
    }

    async function platformsOf(repo: string, { digest }: Descriptor): Promise<number> {
      const query = world.store.reader.selectFrom("image").select("architecture").where("repo_uid", "=", repo).where("digest", "=", digest);
      return (await query.execute()).length;
    }

    async function rowsOf(repo: string): Promise<number> {
      const { reader } = world.store;
      const rows = await reader.selectFrom("image").select("digest").where("repo_uid", "=", repo).execute();
      return rows.length - IMAGES;
    }

    test("an index that many indexes already contain is pushed with few rows, and all of them get its images", async () => {
      const repo = await world.newRepo();
      const images = [];
      for (let i = 0; i < IMAGES; i++) images.push(await pushImage(repo, i));
      const content = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests: images }));
      const inner: Descriptor = { mediaType: INDEX_TYPE, digest: digestOf(content), size: content.length };
      for (let i = 0; i < INDEXES; i++) await world.pushIndex(repo, { manifests: annotated([inner], i) });
      assert.equal(await rowsOf(repo), 0);
      await world.pushIndex(repo, { manifests: images });
      const pushed = await rowsOf(repo);
      assert.ok(pushed >= IMAGES && pushed <= IMAGES + 1000, `${pushed} rows`);
      for (let before = pushed; await spreadNextFacts(); before = await rowsOf(repo)) assert.ok((await rowsOf(repo)) - before <= 1000);
      assert.equal(await rowsOf(repo), IMAGES * (INDEXES + 1));
      const { reader } = world.store;
      const platforms = await reader.selectFrom("index_platform").select("digest").execute();
      assert.equal(platforms.length, IMAGES * (INDEXES + 1));
      assert.deepEqual(await reader.selectFrom("image_facts_wait").selectAll().execute(), []);
    });

    test("indexes that are pushed above waiting ones get all images, on every level", async () => {
      const repo = await world.newRepo();
      const images = [];
      for (let i = 0; i < IMAGES; i++) images.push(await pushImage(repo, i));
      const content = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests: images }));
      const inner: Descriptor = { mediaType: INDEX_TYPE, digest: digestOf(content), size: content.length };
      const middle: Descriptor[] = [];
      for (let i = 0; i < INDEXES; i++) middle.push(await world.pushIndex(repo, { manifests: annotated([inner], i) }));
      await world.pushIndex(repo, { manifests: images });
      const { after } = await world.store.reader
        .selectFrom("image_facts_wait")
        .select("after")
        .where("after", "<>", "")
        .executeTakeFirstOrThrow();
      const waiting = middle.filter(({ digest }) => digest > after);
      assert.equal(await platformsOf(repo, waiting[0] as Descriptor), 0);
      // Digests before and after the cursor.
      const above: Descriptor[] = [];
      for (let i = 0; i < 8; i++) above.push(await world.pushIndex(repo, { manifests: annotated([waiting.at(-1) as Descriptor], i) }));
      const top = await world.pushIndex(repo, { manifests: above });
      while (await spreadNextFacts());
      for (const index of [...middle, ...above, top]) assert.equal(await platformsOf(repo, index), IMAGES);
    });

    test("a manifest has its platform also if its repo appeared after the push had begun", async () => {
      const repo = await world.newRepo();
      const config = await world.pushBlob(repo, Buffer.from(JSON.stringify({ architecture: "riscv64", os: "linux" })));
      const manifest = { schemaVersion: 2, config: { ...config, mediaType: CONFIG_TYPE }, layers: [] };
      const pushed = await world.pushContent(async () => repo, Buffer.from(JSON.stringify(manifest)));
      assert.equal(await platformsOf(repo, pushed), 1);
    });
  });
}
