/** Tests that a large repo is emptied in batches before it is deleted, and that other repos are not affected. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { countOf } from "../../src/db/resource-count.ts";
import { parentOf } from "../../src/lib/uid.ts";
import { createRepoEmptying } from "../../src/registry/content/empty-repo.ts";
import { upsertTag } from "../../src/registry/content/tags.ts";
import { createStorageFixture } from "../harness/registry/storage-fixture.ts";

const PIECE = 3;

for (const kind of ["sqlite", "postgres"] as const) {
  test(`a large repo is emptied except for one batch before it is deleted, and the counts stay correct (${kind})`, async () => {
    await using world = await createStorageFixture(kind);
    const { store } = world;
    const [large, other] = [await world.newRepo(), await world.newRepo()];
    for (const repoUid of [large, other]) {
      const { digest } = await world.pushImage(repoUid);
      for (const name of ["a", "b", "c", "d-r1", "e-r2", "f", "g", "h"])
        await store.transaction((db) => upsertTag(db, { repoUid, name, digest, now: new Date(), actor: "somebody" }));
    }
    const left = async (repoUid: string) => {
      const tags = await store.reader.selectFrom("tag").select("class").where("parent", "=", repoUid).execute();
      const history = await store.reader.selectFrom("tag_history").select("tag").where("repo_uid", "=", repoUid).execute();
      const plain = tags.filter((tag) => tag.class === 0).length;
      for (const place of [repoUid, parentOf(repoUid)]) {
        assert.equal((await countOf(store.reader, "tag", place)).below, tags.length);
        assert.equal((await countOf(store.reader, "plain_tag", place)).below, plain);
      }
      return [tags.length, history.length];
    };
    for (const repoUid of [large, other]) for (let i = 1; i < 5; i++) await world.pushImage(repoUid);
    const content = async (repoUid: string) => {
      const manifests = await store.reader.selectFrom("manifest").select("digest").where("repo_uid", "=", repoUid).execute();
      const used = await store.reader
        .selectFrom("manifest_reference")
        .select("digest")
        .distinct()
        .where("repo_uid", "=", repoUid)
        .orderBy("digest")
        .execute();
      const linked = store.reader.selectFrom("repo_blob").select("digest").where("repo_uid", "=", repoUid).orderBy("digest");
      return { manifests: manifests.length, used, linked: await linked.execute() };
    };
    const before = await content(large);
    assert.equal(before.manifests, 5);
    await createRepoEmptying(store)(large);
    assert.deepEqual(await content(large), before);
    assert.deepEqual(await left(large), [8, 8]);
    await createRepoEmptying(store, PIECE)(large);
    const [tags = 0, history = 0] = await left(large);
    assert.ok(tags > 0 && tags <= PIECE && history > 0 && history <= PIECE);
    const after = await content(large);
    assert.ok(after.manifests > 0 && after.manifests <= PIECE);
    const links = new Set(after.linked.map((link) => link.digest));
    assert.ok(after.used.every((reference) => links.has(reference.digest)) && links.size <= after.used.length + PIECE);
    assert.deepEqual(await left(other), [8, 8]);
    assert.equal((await content(other)).manifests, 5);
  });
}
