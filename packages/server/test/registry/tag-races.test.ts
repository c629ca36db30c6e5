/** Tags that are deleted at the same moment as their repo or their manifest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const ROUNDS = 15;
const TAGS = 5;
const DIGEST = `sha256:${"a".repeat(64)}`;

describeWithWorld("concurrent deletions of tags", (world) => {
  const { createTag, listTags } = TagsService.method;

  test("a repo that is deleted while its tags are deleted leaves the counts of its group right", async () => {
    const group = await world.group(world.orgUid);
    for (let round = 0; round < ROUNDS; round++) {
      const { uid: repo } = await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "short-lived" } });
      const tags = await Promise.all(
        Array.from({ length: TAGS }, (_, i) => world.must(createTag, { parent: repo, tag: { name: `v${i}`, digest: DIGEST } })),
      );
      const [deleted, ...others] = await Promise.all([
        world.raw("DELETE", `/registry/v2/repos/${repo}`),
        ...tags.map(({ uid }) => world.raw("DELETE", `/registry/v2/tags/${uid}`)),
      ]);
      assert.equal(deleted.status, 200, deleted.text);
      for (const { status, text } of others) assert.ok(status === 200 || status === 404, text);
      assert.equal((await world.must(listTags, { uidp: { descendantsOf: group } })).totalCount, 0n);
      const left = world.store.reader.selectFrom("resource_count").selectAll().where("group_uid", "=", repo);
      assert.deepEqual(await left.execute(), []);
    }
  });

  test("a manifest is deleted although its tags are deleted at the same moment", async () => {
    using client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    for (let round = 0; round < ROUNDS; round++) {
      const name = `my-org/tagged-${round}`;
      const { digest } = await client.image(name, "v0");
      const { repos } = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: world.orgUid }, name: `tagged-${round}` });
      const parent = repos[0]?.uid ?? "";
      for (let i = 1; i < TAGS; i++) await world.must(createTag, { parent, tag: { name: `v${i}`, digest } });
      const { tags } = await world.must(listTags, { uidp: { childrenOf: parent } });
      assert.equal(tags.length, TAGS);
      const [deleted] = await Promise.all([
        client.send("DELETE", `${name}/manifests/${digest}`),
        ...tags.map(({ uid }) => world.raw("DELETE", `/registry/v2/tags/${uid}`)),
      ]);
      assert.equal(deleted.status, 202, deleted.body.toString());
    }
  });
});
