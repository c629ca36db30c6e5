/** Tests that the removal of a blob neither deletes bytes that may be stored again, nor delays the storing of other blobs. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { linkBlob } from "../../src/blobs/link-blob.ts";
import { countAllRemovals, createBlobRemoval } from "../../src/blobs/removal.ts";
import { blobReferences } from "../../src/domains.ts";
import { Code } from "../../src/lib/errors.ts";
import { createStorageFixture } from "../harness/registry/storage-fixture.ts";
import { until } from "../harness/wait.ts";

test("a deletion from a bucket ends half a minute before its mark expires, and the mark stays", async (t) => {
  await using world = await createStorageFixture("s3");
  const s3 = world.s3 ?? assert.fail();
  const { digest } = await world.pushBlob(await world.newRepo(), randomBytes(100));
  await world.store.transaction((db) => db.deleteFrom("repo_blob").where("digest", "=", digest).execute());
  s3.fault = ({ operation }) => (operation === "DeleteObject" ? "hang" : undefined);
  const deletions = () => s3.requests.filter(({ operation }) => operation === "DeleteObject").length;
  const late = new AbortController();
  const timeout = t.mock.method(AbortSignal, "timeout", () => late.signal);
  const removed = createBlobRemoval({ store: world.store, blobs: world.blobs, references: blobReferences }).removeUnlinked([digest]);
  removed.catch(() => {});
  await until(async () => deletions() === 1);
  assert.deepEqual(timeout.mock.calls[0]?.arguments, [30_000]);
  late.abort();
  await assert.rejects(removed, { code: Code.UNAVAILABLE });
  s3.fault = undefined;
  const row = await world.store.reader.selectFrom("blob").select("removal_time").where("digest", "=", digest).executeTakeFirst();
  assert.ok((row?.removal_time ?? "") > new Date().toISOString());
  assert.ok((await world.blobs.stat(digest)) !== undefined);
  assert.equal(deletions(), 1);
});

test("a deletion of a file does not begin once it is aborted", async () => {
  await using world = await createStorageFixture("sqlite");
  const { digest } = await world.pushBlob(await world.newRepo());
  await assert.rejects(world.blobs.remove(digest, AbortSignal.abort()), { name: "AbortError" });
  assert.ok((await world.blobs.stat(digest)) !== undefined);
});

for (const kind of ["sqlite", "postgres"] as const) {
  test(`a blob is stored again if it was removed meanwhile, and not if other blobs were (${kind})`, async () => {
    await using world = await createStorageFixture(kind);
    const { store, blobs } = world;
    const removal = createBlobRemoval({ store, blobs, references: blobReferences });
    const digest = digestOf(randomBytes(100));
    const others = Array.from({ length: 20 }, () => digestOf(randomBytes(100))).filter(
      (other) => other.slice(0, 10) !== digest.slice(0, 10),
    );
    /** @returns how often the bytes were stored */
    async function storeWhileRemoved(removed: readonly string[]): Promise<number> {
      let times = 0;
      const storeBytes = async () => {
        times++;
        if (times === 1) for (const each of removed) assert.ok(await removal.removeOrphan(each, 100));
        return 100;
      };
      await linkBlob(store, digest, storeBytes, async () => {});
      return times;
    }
    assert.equal(await storeWhileRemoved(others), 1);
    assert.equal((await removal.removeUnlinked([digest])).length, 1);
    assert.equal(await storeWhileRemoved([digest]), 2);
  });

  test(`concurrent removals of blobs that share counters all end (${kind})`, async () => {
    await using world = await createStorageFixture(kind);
    const { store, blobs } = world;
    const removal = createBlobRemoval({ store, blobs, references: blobReferences });
    const digests = Array.from({ length: 60 }, (_, index) => `sha256:${String(index % 6)}00${digestOf(randomBytes(9)).slice(10)}`);
    const row = { size: 1, create_time: "", removal_time: null };
    await store.transaction((db) =>
      db
        .insertInto("blob")
        .values(digests.map((digest) => ({ digest, ...row })))
        .execute(),
    );
    const parts = [digests.slice(0, 30), digests.slice(30).reverse()];
    const removed = await Promise.all(parts.map((part) => removal.removeUnlinked(part)));
    assert.equal(removed.flat().length, digests.length);
    // Each of both removals counts once for each of the six counters.
    assert.equal(await countAllRemovals(store.reader), 12);
  });
}
