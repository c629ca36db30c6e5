/** Tests repos and their readmes, on both stores. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { CatalogTier, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { countOf } from "../../src/db/resource-count.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { repoCalls } from "../harness/registry/repo-calls.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createRepo, updateRepo, deleteRepo, listRepos, getRepoReadme, updateRepoReadme } = ReposService.method;
const { createTag, listTags, getTag } = TagsService.method;
const DIGEST = `sha256:${"a".repeat(64)}`;
const ALIAS_TEXT = String.raw`each alias must match "^[a-zA-Z0-9_.\\-/]*[a-zA-Z0-9_.\\-]:[a-zA-Z0-9_.\\-]+$"`;
const BUNDLES_TEXT =
  'only the following keywords are valid "^application$|^base$|^byol$|^ai$|^ai-gpu$|^featured$|^fips$|^commercial$|^emeritoss$"';

describeWithWorld("repos", (world) => {
  let group: string;
  beforeEach(async () => {
    group = await world.group(world.orgUid);
  });
  const { make, change, get, violationOf, assertViolation } = repoCalls(world, () => group);

  it("a repo keeps the order and the duplicates of its lists", async () => {
    const lists = {
      bundles: ["fips", "ai-gpu", "fips"],
      aliases: ["b/nginx:1", "a:2", "b/nginx:1"],
      activeTags: ["latest", "_x", "1.27", "latest"],
    };
    const made = await make({ name: "nginx", catalogTier: CatalogTier.FIPS, description: "“Web”\v server", ...lists });
    const { uid } = made;
    const read = await get(uid);
    assert.deepEqual({ bundles: read.bundles, aliases: read.aliases, activeTags: read.activeTags }, lists);
    assert.equal(read.catalogTier, CatalogTier.FIPS);
    assert.equal(read.description, "“Web”\v server");
  });

  it("an invalid repo is refused with the documented message", async () => {
    await assertViolation({ name: "Nginx", description: "a\nb" }, "name", 'name must match "^[a-z0-9 ._-]{1,}$"');
    for (const description of ["a\nb", "x".repeat(513)])
      await assertViolation({ name: "a", description }, "description", String.raw`description must match "^[\\S ]{0,512}$"`);
    await assertViolation({ name: "a", bundles: ["base", "Base"] }, "bundles", BUNDLES_TEXT);
    for (const alias of ["nginx", "nginx:", ":1", "a/:1", "a:b/c", "a b:1"])
      await assertViolation({ name: "a", aliases: ["ok:1", alias] }, "aliases", ALIAS_TEXT);
    for (const tag of ["", "-a", "a b", "x".repeat(129)])
      await assertViolation({ name: "a", activeTags: [tag] }, "active_tags", 'tag must match "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$"');
    assert.deepEqual(
      ((await violationOf({ name: "a", description: "\t", bundles: ["x"], aliases: ["x"] })) as { field: string }[]).map(
        ({ field }) => field,
      ),
      ["description", "bundles", "aliases"],
    );
    const unknownTier = await world.grpc.call(
      createRepo,
      { parent: group, repo: { name: "a", catalogTier: 99 as never } },
      world.owner.token,
    );
    assert.equal(codeOf(unknownTier), Code.INVALID_ARGUMENT);
    // The maximum length, in characters and not in UTF-16 code units.
    await make({ name: "a", description: "😀".repeat(512) });
  });

  it("a repo's name is unique in its group, and a repo can be renamed to a free name", async () => {
    const first = await make({ name: "first" });
    const second = await make({ name: "second" });
    await make({ name: "first" }, await world.group(group));
    for (const client of world.clients) {
      for (const outcome of [
        await client.call(createRepo, { parent: group, repo: { name: "first" } }, world.owner.token),
        await client.call(updateRepo, { repo: { uid: second.uid, name: "first" } }, world.owner.token),
      ]) {
        const { code, details } = errorOf(outcome);
        assert.equal(code, Code.ALREADY_EXISTS);
        const info = details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.ResourceInfo");
        assert.deepEqual([info?.resourceType, info?.resourceName], ["registry.holt.dev/Repo", first.uid]);
      }
    }
    assert.equal((await change({ uid: second.uid, name: "third" })).name, "third");
    await make({ name: "second" });
  });

  it("exactly one of many concurrent creations of a repo with the same name succeeds", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => world.grpc.call(createRepo, { parent: group, repo: { name: "race" } }, world.owner.token)),
    );
    assert.deepEqual(outcomes.map(codeOf).sort(), [0, ...Array(7).fill(Code.ALREADY_EXISTS)]);
    assert.equal((await world.must(listRepos, { name: "race", uidp: { childrenOf: group } })).totalCount, 1n);
  });

  it("repos are found by name, and an empty name does not filter", async () => {
    await make({ name: "a" });
    await make({ name: "b" });
    const names = async (name?: string) => {
      const request = { uidp: { childrenOf: group }, orderBy: "name desc", ...(name === undefined ? {} : { name }) };
      const pages = await Promise.all(world.clients.map((client) => client.call(listRepos, request, world.owner.token)));
      return pages.map((page) => (page.ok ? page.value.repos.map((repo) => repo.name).join() : ""));
    };
    assert.deepEqual(await names(), ["b,a", "b,a"]);
    assert.deepEqual(await names(""), ["b,a", "b,a"]);
    assert.deepEqual(await names("a"), ["a", "a"]);
    assert.deepEqual(await names("A"), ["", ""]);
  });

  it("a PATCH changes only the fields in its mask", async () => {
    const { uid } = await make({ name: "nginx", description: "before", aliases: ["nginx:1"] });
    const answer = await world.raw("PATCH", `/registry/v2/repos/${uid}?updateMask=description`, {
      description: "after",
      name: "x",
      aliases: [],
    });
    assert.equal(answer.status, 200, answer.text);
    const { name, description, aliases } = await get(uid);
    assert.deepEqual([name, description, aliases], ["nginx", "after", ["nginx:1"]]);
  });

  it("deleting a repo deletes its tags, and the counts are correct", async () => {
    const { uid } = await make({ name: "nginx" });
    const tags = [];
    for (const name of ["latest", "1.27", "1.27-r0", "1.27-20260101", "sha256-abc"])
      tags.push(await world.must(createTag, { parent: uid, tag: { name, digest: DIGEST } }));
    const counts = async (at: string) => [
      (await countOf(world.store.reader, "tag", at)).below,
      (await countOf(world.store.reader, "plain_tag", at)).below,
    ];
    assert.deepEqual(await counts(group), [5, 2]);
    const all = await counts("/");
    await world.must(deleteRepo, { uid });
    assert.deepEqual(await counts(group), [0, 0]);
    assert.deepEqual(await counts(uid), [0, 0]);
    assert.deepEqual(await counts("/"), [all[0]! - 5, all[1]! - 2]);
    assert.equal((await countOf(world.store.reader, "repo", group)).below, 0);
    for (const tag of tags) assert.equal(codeOf(await world.rest.call(getTag, { uid: tag.uid }, world.owner.token)), Code.NOT_FOUND);
    assert.equal((await world.must(listTags, { uidp: { descendantsOf: group } })).totalCount, 0n);
    assert.equal(codeOf(await world.rest.call(deleteRepo, { uid }, world.owner.token)), Code.NOT_FOUND);
  });

  it("a group with repos cannot be deleted, whatever else it has", async () => {
    const { uid } = await make({ name: "nginx" });
    const inner = await world.group(group);
    for (const client of world.clients) {
      const { code, message, details } = errorOf(await client.call(GroupsService.method.deleteGroup, { uid: group }, world.owner.token));
      assert.equal(code, Code.FAILED_PRECONDITION);
      assert.equal(message, "Precondition failed: cannot delete group with child repos");
      const failure = details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.PreconditionFailure");
      assert.deepEqual(failure?.violations, [{ type: "RESOURCE_NOT_EMPTY", description: "cannot delete group with child repos" }]);
    }
    await world.must(deleteRepo, { uid });
    await world.must(GroupsService.method.deleteGroup, { uid: inner });
    await world.must(GroupsService.method.deleteGroup, { uid: group });
  });

  it("a repo can only be created in a group", async () => {
    const { uid } = await make({ name: "nginx" });
    assert.equal(codeOf(await world.rest.call(createRepo, { parent: uid, repo: { name: "x" } }, world.owner.token)), Code.NOT_FOUND);
  });

  it("each write of a repo emits one event, whose subject is the repo and whose group is its parent", async () => {
    const { uid } = await make({ name: "nginx" });
    await change({ uid, description: "changed" });
    await change({ uid, description: "changed" });
    await world.must(updateRepoReadme, { repoReadme: { uid, content: "# Hi" } });
    await world.must(updateRepoReadme, { repoReadme: { uid, content: "# Hi" } });
    await world.must(deleteRepo, { uid });
    const events = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "group_uid", "body_type"])
      .where("subject", "=", uid)
      .orderBy("seq")
      .execute();
    assert.ok(events.every((event) => event.group_uid === group));
    assert.deepEqual(
      events.map(({ type, body_type }) => [type, body_type]),
      [
        ["dev.holt.api.platform.registry.repo.created.v1", "platform.registry.v2.Repo"],
        ["dev.holt.api.platform.registry.repo.updated.v1", "platform.registry.v2.Repo"],
        ["dev.holt.api.platform.registry.repo.updated.v1", "platform.registry.v2.RepoReadme"],
        ["dev.holt.api.platform.registry.repo.deleted.v1", "platform.registry.v2.DeleteRepoRequest"],
      ],
    );
  });

  describe("readmes of repos", () => {
    const read = async (uid: string) => (await world.must(getRepoReadme, { uid })).content;

    it("the readme of a repo is empty until it is written", async () => {
      const { uid } = await make({ name: "nginx" });
      assert.equal(await read(uid), "");
      const content = "# Nginx\n\n| a | b |\n|:-:|---|\n| 1 | 2 |\n\n```go\na < b && c\n```\n<!-- note -->\n<img src=x.png width=10>\n";
      for (const [index, client] of world.clients.entries()) {
        const outcome = await client.call(updateRepoReadme, { repoReadme: { uid, content: content + index } }, world.owner.token);
        assert.equal(outcome.ok && outcome.value.content, content + index);
        assert.equal(await read(uid), content + index);
      }
      await world.must(updateRepoReadme, { repoReadme: { uid }, updateMask: { paths: ["content"] } });
      assert.equal(await read(uid), "");
      assert.equal((await world.raw("GET", `/registry/v2/repos/${uid}/readme`)).text, `{"uid":"${uid}","content":""}`);
    });

    it("a readme with HTML that a sanitizer would change is refused", async () => {
      const { uid } = await make({ name: "nginx" });
      for (const content of ["<script>alert(1)</script>", "[x](javascript:alert(1))", '<img src=x onerror="alert(1)">']) {
        for (const client of world.clients) {
          const { code, message } = errorOf(await client.call(updateRepoReadme, { repoReadme: { uid, content } }, world.owner.token));
          assert.equal(code, Code.INVALID_ARGUMENT);
          assert.equal(message, "Invalid argument: content: readme contained unsafe html content");
        }
      }
      for (const content of ["a\0b", "x".repeat(256 * 1024 + 1)])
        assert.equal(
          codeOf(await world.grpc.call(updateRepoReadme, { repoReadme: { uid, content } }, world.owner.token)),
          Code.INVALID_ARGUMENT,
        );
      assert.equal(await read(uid), "");
      assert.equal(codeOf(await world.rest.call(getRepoReadme, { uid: `${group}/0123456789abcdef` }, world.owner.token)), Code.NOT_FOUND);
      const missing = { repoReadme: { uid: `${group}/0123456789abcdef`, content: "x" } };
      assert.equal(codeOf(await world.rest.call(updateRepoReadme, missing, world.owner.token)), Code.NOT_FOUND);
    });

    it("writing a readme needs repo.update and reading it needs repo.list, and nothing else", async () => {
      const { uid } = await make({ name: "nginx" });
      const reader = await world.robot(group, [Capability.CAP_REPO_LIST]);
      const writer = await world.robot(group, [Capability.CAP_REPO_UPDATE]);
      const repoReadme = { uid, content: "x" };
      for (const client of world.clients) {
        assert.equal(codeOf(await client.call(updateRepoReadme, { repoReadme }, reader.token)), Code.PERMISSION_DENIED);
        assert.equal(codeOf(await client.call(updateRepoReadme, { repoReadme }, writer.token)), 0);
        assert.equal(codeOf(await client.call(getRepoReadme, { uid }, writer.token)), Code.PERMISSION_DENIED);
        assert.equal(codeOf(await client.call(getRepoReadme, { uid }, reader.token)), 0);
      }
      const catalogued = await world.must(updateRepo, { repo: { uid, catalogTier: CatalogTier.BASE, bundles: ["base"] } }, writer.token);
      assert.equal(catalogued.catalogTier, CatalogTier.BASE);
    });
  });
});
