import assert from "node:assert/strict";
import { it } from "node:test";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { removeLostScans } from "../../src/registry/packages/lost-scans.ts";
import { putPackages } from "../harness/advisories/advisories.ts";
import { createRegistryClient, INDEX } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

describeWithWorld("packages of deleted images", (world) => {
  it("the packages of a deleted image are kept for a hundred days if a tag pointed to it at the end of a day, and not otherwise", async () => {
    const name = "remembered";
    const { uid: repo } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name } });
    using registry = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
    const path = `${world.orgUid}/${name}`;
    const push = async (reference?: string) => {
      const image = await registry.image(path, reference);
      await putPackages(world.store, image.digest, [{ name: "openssl", version: "1" }]);
      return image;
    };
    const untagged = await push();
    const [replacedThatDay, replaced, kept] = [await push("a"), await push("b"), await push("c")];
    const inIndex = await push();
    const index = await registry.manifest(path, { schemaVersion: 2, mediaType: INDEX, manifests: [inIndex] }, "d");
    const now = world.clock.now();
    const names: Readonly<Record<string, string>> = {
      ...{ [untagged.digest]: "untagged", [replacedThatDay.digest]: "replaced that day", [replaced.digest]: "replaced" },
      ...{ [kept.digest]: "kept", [inIndex.digest]: "in an index" },
    };
    await world.store.transaction(async (db) => {
      const moved = (tag: string, ms: number) => ({
        repo_uid: repo,
        tag,
        digest: index.digest,
        time: new Date(ms).toISOString(),
        actor: "",
      });
      const midnight = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
      await db
        .updateTable("tag_history")
        .set({ time: new Date(midnight).toISOString() })
        .where("repo_uid", "=", repo)
        .execute();
      await db
        .insertInto("tag_history")
        .values([moved("a", midnight + 1), moved("b", midnight + 50 * DAY_MS)])
        .execute();
      await db.deleteFrom("manifest").where("repo_uid", "=", repo).where("digest", "!=", kept.digest).execute();
    });
    const rememberedAfter = async (days: number) => {
      await removeLostScans(world.store, new Date(now.getTime() + days * DAY_MS), undefined);
      const rows = await world.store.reader.selectFrom("image_package").select("digest").distinct().execute();
      return rows.map(({ digest }) => names[digest]).sort();
    };
    assert.deepEqual(await rememberedAfter(0), ["in an index", "kept", "replaced"]);
    assert.deepEqual(await rememberedAfter(99), ["in an index", "kept", "replaced"]);
    // The second tag moved to the index after fifty days.
    assert.deepEqual(await rememberedAfter(149), ["in an index", "kept", "replaced"]);
    assert.deepEqual(await rememberedAfter(151), ["kept"]);
  });

  it("a scan without packages and the list of an index go when no repository has them any more", async () => {
    const path = `${world.orgUid}/gone`;
    using registry = createRegistryClient(world.baseUrl, `Bearer ${world.owner.token}`);
    const image = await registry.image(path, "1");
    const untagged = await registry.manifest(path, { schemaVersion: 2, mediaType: INDEX, manifests: [image] });
    const tagged = await registry.manifest(
      path,
      { schemaVersion: 2, mediaType: INDEX, manifests: [image], annotations: { a: "b" } },
      "index",
    );
    const stateOf = async () => ({
      scans: (await world.store.reader.selectFrom("image_scan").select("digest").where("digest", "=", image.digest).execute()).length,
      indexes: (await world.store.reader.selectFrom("index_platform").select("digest").execute())
        .map(({ digest }) => digest)
        .filter((digest) => [untagged.digest, tagged.digest].includes(digest)),
    });
    await removeLostScans(world.store, world.clock.now(), undefined);
    assert.deepEqual([(await stateOf()).scans, (await stateOf()).indexes.length], [1, 2]);
    for (const { digest } of [untagged, tagged, image])
      assert.equal((await registry.send("DELETE", `${path}/manifests/${digest}`)).status, 202);
    await removeLostScans(world.store, world.clock.now(), undefined);
    assert.deepEqual(await stateOf(), { scans: 0, indexes: [tagged.digest] });
    const { repos } = await world.must(ReposService.method.listRepos, { name: "gone" });
    await world.must(ReposService.method.deleteRepo, { uid: repos[0]?.uid ?? "" });
    await removeLostScans(world.store, world.clock.now(), undefined);
    assert.deepEqual(await stateOf(), { scans: 0, indexes: [] });
  });
});
