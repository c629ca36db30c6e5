/** Tests that the removal of a blob neither deletes bytes that may be stored again, nor delays the storing of other blobs. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createBlobRemoval } from "../../src/blobs/removal.ts";
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
