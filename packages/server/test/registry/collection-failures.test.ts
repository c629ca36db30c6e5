/** Tests that collection goes on where the blob store fails to delete some blobs, and ends where it fails to delete many. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { BlobStore } from "../../src/blobs/store.ts";
import { createStorageFixture, GRACE_MS, type StorageFixture } from "../harness/registry/storage-fixture.ts";

/** The store, which fails to delete these blobs. @param attempted collects the blobs that it is to delete */
function failingStore({ blobs }: StorageFixture, stuck: readonly string[], attempted: string[] = []): BlobStore {
  const remove: BlobStore["remove"] = async (digest, signal) => {
    attempted.push(digest);
    if (stuck.includes(digest)) throw new Error("EIO: i/o error");
    await blobs.remove(digest, signal);
  };
  return new Proxy(blobs, { get: (target, name) => (name === "remove" ? remove : Reflect.get(target, name).bind(target)) });
}

/** @returns digests in the order in which collection finds them */
async function pushGarbage(world: StorageFixture, count: number): Promise<string[]> {
  const repo = await world.newRepo();
  const pushed = [];
  for (let i = 0; i < count; i++) pushed.push((await world.pushBlob(repo, randomBytes(100))).digest);
  world.clock.advance(GRACE_MS + 1000);
  return pushed.sort();
}

test("collection deletes other blobs where the store fails to delete one, and reports the failure", async () => {
  await using world = await createStorageFixture("sqlite");
  const [stuck = "", ...others] = await pushGarbage(world, 30);
  const report = await world.otherCollector({ blobs: failingStore(world, [stuck]) }).run();
  assert.deepEqual([report?.finished, report?.failures, report?.blobs], [true, 1, 29]);
  for (const digest of others) assert.equal(await world.blobs.stat(digest), undefined);
  assert.ok((await world.blobs.stat(stuck)) !== undefined);
});

test("collection ends with an error where the store fails to delete more than twenty blobs", async () => {
  await using world = await createStorageFixture("sqlite");
  const digests = await pushGarbage(world, 40);
  const attempted: string[] = [];
  await assert.rejects(world.otherCollector({ blobs: failingStore(world, digests, attempted) }).run(), /EIO/);
  assert.ok(attempted.length <= 30, `${attempted.length} attempts`);
});
