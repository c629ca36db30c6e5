import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { beforeEach, describe, it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { CatalogTier, type Repo, type RepoSchema, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { countOf } from "../../src/db/resource-count.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { CHUNK_SIZE } from "../../src/registry/sync/share-queue.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createRepo, updateRepo, getRepo, deleteRepo, listRepos, getRepoReadme, updateRepoReadme } = ReposService.method;
const { createTag, listTags, getTag } = TagsService.method;
const DIGEST = `sha256:${"a".repeat(64)}`;
const ALIAS_TEXT = String.raw`each alias must match "^[a-zA-Z0-9_.\\-/]*[a-zA-Z0-9_.\\-]:[a-zA-Z0-9_.\\-]+$"`;
const BUNDLES_TEXT =
  'only the following keywords are valid "^application$|^base$|^byol$|^ai$|^ai-gpu$|^featured$|^fips$|^commercial$|^emeritoss$"';

type RepoInit = MessageInitShape<typeof RepoSchema>;

describeWithWorld("repos", (world) => {
  let group: string;
  beforeEach(async () => {
    group = await world.group(world.orgUid);
  });

  const make = (repo: RepoInit, parent = group, token?: string) => world.must(createRepo, { parent, repo }, token);
  const change = (repo: RepoInit, ...paths: string[]) =>
    world.must(updateRepo, { repo, ...(paths.length === 0 ? {} : { updateMask: { paths } }) });
  const get = (uid: string) => world.must(getRepo, { uid });
  /** Asks both clients and returns the one violation that both report. */
  async function violationOf(repo: RepoInit): Promise<unknown> {
    const found = [];
    for (const client of world.clients) {
      const { code, details } = errorOf(await client.call(createRepo, { parent: group, repo }, world.owner.token));
      assert.equal(code, Code.INVALID_ARGUMENT);
      found.push(details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.BadRequest")?.fieldViolations);
    }
    assert.deepEqual(found[0], found[1]);
    return found[0];
  }
  const assertViolation = async (repo: RepoInit, field: string, description: string) =>
    assert.deepEqual(await violationOf(repo), [{ field, description }]);

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

  describe("synced repos", () => {
    let source: Repo;
    const curated = { catalogTier: CatalogTier.AI, bundles: ["ai", "ai"], aliases: ["x:1"], activeTags: ["latest"] };
    const curatedOf = ({ catalogTier, bundles, aliases, activeTags }: Repo) => ({ catalogTier, bundles, aliases, activeTags });
    const days = (repo: Repo) => (Number(repo.syncConfig?.expirationTime?.seconds) - world.clock.now().getTime() / 1000) / 86_400;
    beforeEach(async () => {
      source = await make({ name: `source-${Math.random().toString(36).slice(2)}`, description: "The source", ...curated }, world.orgUid);
    });

    it("the source of a synced repo is stored as a uid, however the client names it", async () => {
      const folder = await world.group(world.orgUid, `f${Math.random().toString(36).slice(2)}`);
      const { uid, name } = await make({ name: "deep" }, folder);
      const folderName = (await world.must(GroupsService.method.getGroup, { uid: folder })).name;
      const host = new URL(world.baseUrl).host;
      for (const [named, text] of [
        [source.uid, source.uid],
        [source.uid, `my-org/${source.name}`],
        [source.uid, `${world.orgUid}/${source.name}`],
        [source.uid, `${host}/my-org/${source.name}`],
        [uid, `my-org/${folderName}/${name}`],
      ] as const) {
        const parent = await world.group(group);
        assert.equal((await make({ name: "copy", syncConfig: { source: text } }, parent)).syncConfig?.source, named);
      }
    });

    it("a synced repo is refused without a source that the caller can list", async () => {
      const outsider = await world.robot(group, [Capability.CAP_REPO_CREATE, Capability.CAP_REPO_LIST]);
      const ask = (text: string, token = world.owner.token) =>
        world.rest.call(createRepo, { parent: group, repo: { name: "copy", syncConfig: { source: text } } }, token);
      for (const text of [
        "",
        "nonsense",
        "my-org/none",
        "other.example.com/my-org/none",
        `${group}/0123456789abcdef`,
        group,
        "A//b",
        "\0",
      ]) {
        const { code, message } = errorOf(await ask(text));
        assert.equal(code, Code.INVALID_ARGUMENT, text);
        assert.match(message, /^Invalid argument: sync_config\.source: /);
      }
      const hidden = errorOf(await ask(source.uid, outsider.token));
      assert.equal(
        hidden.message.replaceAll(source.uid, ""),
        errorOf(await ask(`${world.orgUid}/0123456789abcdef`, outsider.token)).message.replaceAll(`${world.orgUid}/0123456789abcdef`, ""),
      );
    });

    it("a synced repo copies tier, bundles, aliases, active tags and readme from its source, and at first the description", async () => {
      await world.must(updateRepoReadme, { repoReadme: { uid: source.uid, content: "# Source" } });
      const copy = await make({ name: "copy", syncConfig: { source: source.uid } });
      assert.deepEqual(curatedOf(copy), curated);
      assert.equal(copy.description, "The source");
      assert.ok(Math.abs(days(copy) - 14) < 0.001);
      assert.equal((await world.must(getRepoReadme, { uid: copy.uid })).content, "# Source");
      // Sending the same values again is not a change.
      assert.deepEqual(curatedOf(await change({ ...copy, description: "mine" })), curated);
      await world.must(updateRepoReadme, { repoReadme: { uid: copy.uid, content: "# Source" } });
    });

    it("a synced repo refuses other values for the fields that it copies", async () => {
      const copy = await make({ name: "copy", syncConfig: { source: source.uid } });
      const { uid } = copy;
      for (const [field, repo] of [
        ["catalog_tier", { uid, catalogTier: CatalogTier.BASE }],
        ["bundles", { uid, bundles: ["ai"] }],
        ["aliases", { uid, aliases: ["y:1"] }],
        ["active_tags", { uid, activeTags: ["other"] }],
      ] as [string, RepoInit][]) {
        for (const client of world.clients) {
          const { code, message } = errorOf(await client.call(updateRepo, { repo }, world.owner.token));
          assert.equal(code, Code.INVALID_ARGUMENT);
          assert.equal(message, `Invalid argument: ${field}: ${field} of a synced repo is that of its source`);
        }
        const fresh = { ...repo, uid: "", name: "fresh", syncConfig: { source: source.uid } } as RepoInit;
        assert.equal(codeOf(await world.rest.call(createRepo, { parent: group, repo: fresh }, world.owner.token)), Code.INVALID_ARGUMENT);
      }
      const readme = { repoReadme: { uid, content: "# Mine" } };
      assert.equal(codeOf(await world.rest.call(updateRepoReadme, readme, world.owner.token)), Code.INVALID_ARGUMENT);
      assert.deepEqual(curatedOf(await change({ uid }, "catalog_tier", "bundles", "aliases", "active_tags")), curated);
    });

    it("a synced repo follows its source, even through other synced repos", async () => {
      const copy = await make({ name: "copy", syncConfig: { source: source.uid } });
      const copyOfCopy = await make({ name: "copy of copy", syncConfig: { source: copy.uid } });
      world.clock.advance(1000);
      await change({ uid: source.uid, bundles: ["base"] });
      for (const { uid, updateTime } of [copy, copyOfCopy]) {
        await until(async () => (await get(uid)).bundles.join() === "base");
        const now = await get(uid);
        assert.deepEqual(now.bundles, ["base"]);
        assert.notDeepEqual(now.updateTime, updateTime);
      }
      await world.must(deleteRepo, { uid: source.uid });
      assert.deepEqual((await change({ uid: copy.uid, description: "alone" })).bundles, ["base"]);
    });

    it("a sync from another organization ends when the identity that began it may not list the source any more", async () => {
      const tenant = await world.group("", "tenant");
      const user = await world.user();
      await world.bind(
        user.uid,
        await world.role(tenant, [Capability.CAP_REPO_CREATE, Capability.CAP_REPO_LIST, Capability.CAP_REPO_UPDATE]),
        tenant,
      );
      const lister = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
      const access = await world.bind(user.uid, lister, world.orgUid);
      await world.must(updateRepoReadme, { repoReadme: { uid: source.uid, content: "# Before" } });
      const copy = await make({ name: "copy", syncConfig: { source: source.uid } }, tenant, user.token);
      const next = await make({ name: "next", syncConfig: { source: copy.uid } }, tenant, user.token);
      const colleague = await world.robot(tenant, [Capability.CAP_REPO_LIST, Capability.CAP_REPO_UPDATE]);
      const readme = async ({ uid }: Repo) => (await world.must(getRepoReadme, { uid }, colleague.token)).content;
      const edit = (repo: RepoInit, token: string) => world.must(updateRepo, { repo }, token);
      assert.deepEqual([await readme(copy), await readme(next)], ["# Before", "# Before"]);
      await change({ uid: source.uid, bundles: ["base"] });
      await until(async () => (await get(next.uid)).bundles.join() === "base");

      await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: access });
      await world.must(updateRepoReadme, { repoReadme: { uid: source.uid, content: "# Secret" } });
      assert.deepEqual([await readme(copy), await readme(next)], ["", ""]);
      await change({ uid: source.uid, bundles: ["fips"], aliases: ["secret:1"] });
      await until(async () => (await world.store.reader.selectFrom("repo_share").select("source_uid").execute()).length === 0);
      for (const { uid } of [copy, next]) assert.deepEqual((await get(uid)).bundles, ["base"]);
      // Neither a change of another field nor the end of the sync copies anything.
      for (const who of [user, colleague])
        assert.deepEqual(curatedOf(await edit({ uid: copy.uid, description: `by ${who.uid.length}` }, who.token)).aliases, ["x:1"]);
      const ended = await world.raw("PATCH", `/registry/v2/repos/${next.uid}?updateMask=syncConfig`, {}, user.token);
      assert.equal(ended.status, 200, ended.text);
      assert.equal(await readme(next), "");

      // Somebody who may list the source can go on.
      await world.bind(user.uid, lister, world.orgUid);
      assert.deepEqual((await edit({ uid: copy.uid, description: "again" }, user.token)).bundles, ["fips"]);
      assert.equal(await readme(copy), "# Secret");
    });

    it("a change of a source is copied to very many repos in short transactions, after the change itself", async () => {
      const { uid: folder } = await world.must(GroupsService.method.createGroup, { parent: group, group: { name: "followers" } });
      const made = await make({ name: "follower", syncConfig: { source: source.uid } }, folder);
      const row = await world.store.reader.selectFrom("repo").selectAll().where("uid", "=", made.uid).executeTakeFirstOrThrow();
      const rows = Array.from({ length: 2 * CHUNK_SIZE + 50 }, (_, i) => {
        const uid = newUid(folder);
        return { ...row, uid, name: `follower-${i}`, body: row.body.replace(made.uid, uid).replace('"follower"', `"follower-${i}"`) };
      });
      await world.store.transaction(async (db) => {
        for (const each of rows) await db.insertInto("repo").values(each).execute();
      });
      const stale = async () => {
        const bodies = await world.store.reader.selectFrom("repo").select("body").where("source", "=", source.uid).execute();
        return bodies.filter(({ body }) => !body.includes('"bundles":["fips"]')).length;
      };
      const lists: number[] = [];
      await change({ uid: source.uid, bundles: ["fips"] });
      await until(async () => {
        lists.push(await stale());
        return lists.at(-1) === 0;
      });
      // The answer came before the copies, and each state that a reader saw was the end of a chunk.
      assert.equal(await stale(), 0);
      for (const left of lists) assert.ok(left === 0 || (rows.length + 1 - left) % CHUNK_SIZE === 0, `${left} were left at once`);
    });

    it("a repo cannot be synced from itself, not even through others", async () => {
      const copy = await make({ name: "copy", syncConfig: { source: source.uid } });
      for (const from of [source.uid, copy.uid]) {
        const outcome = await world.rest.call(updateRepo, { repo: { uid: source.uid, syncConfig: { source: from } } }, world.owner.token);
        assert.equal(codeOf(outcome), Code.INVALID_ARGUMENT);
      }
    });

    it("a synced repo keeps the fields that only the server sets, until its source changes", async () => {
      const copy = await make({
        name: "copy",
        syncConfig: {
          source: source.uid,
          google: "g",
          uniqueTags: true,
          gracePeriod: true,
          apkoOverlay: "x",
          expirationTime: { seconds: 1n },
        },
      });
      const { uid } = copy;
      const config = copy.syncConfig!;
      assert.deepEqual([config.google, config.uniqueTags, config.gracePeriod, config.apkoOverlay], ["g", false, false, ""]);
      world.clock.advance(60_000);
      for (const paths of [["sync_config"], ["*"], ["sync_config.amazon", "sync_config.expiration_time"]]) {
        const syncConfig = { source: `my-org/${source.name}`, amazon: paths.join(), expirationTime: { seconds: 5n }, uniqueTags: true };
        const { syncConfig: next } = await change({ uid, name: "copy", syncConfig }, ...paths);
        assert.deepEqual([next?.source, next?.amazon, next?.uniqueTags], [source.uid, paths.join(), false]);
        assert.deepEqual(next?.expirationTime, config.expirationTime);
      }
      const other = await make({ name: "other", bundles: ["fips"] });
      const moved = await change({ uid, syncConfig: { source: other.uid } });
      assert.ok(Math.abs(days(moved) - 14) < 0.001);
      assert.deepEqual(moved.bundles, ["fips"]);
    });

    it("a repo is independent again when a mask removes its sync configuration", async () => {
      await world.must(updateRepoReadme, { repoReadme: { uid: source.uid, content: "# Source" } });
      const { uid } = await make({ name: "copy", syncConfig: { source: source.uid } });
      const answer = await world.raw("PATCH", `/registry/v2/repos/${uid}?updateMask=syncConfig`, {});
      assert.equal(answer.status, 200, answer.text);
      assert.equal(JSON.parse(answer.text).sync_config, undefined);
      const freed = await change({ uid, catalogTier: CatalogTier.BASE });
      assert.deepEqual(curatedOf(freed), { ...curated, catalogTier: CatalogTier.BASE });
      assert.equal((await world.must(getRepoReadme, { uid })).content, "# Source");
      await world.must(updateRepoReadme, { repoReadme: { uid, content: "# Mine" } });
      assert.deepEqual((await world.must(getRepoReadme, { uid: source.uid })).content, "# Source");
    });
  });

  describe("custom overlays of repos", () => {
    const publicKey = (type: "rsa" | "ec") =>
      type === "rsa"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "pem" }).toString()
        : generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }).toString();
    const rsa = publicKey("rsa");

    it("a repo keeps all fields of its custom overlay", async () => {
      const overlay = {
        contents: { packages: ["curl"], runtimeRepositories: ["https://x"], runtimeKeyring: [{ name: "a@b-1.rsa.pub", content: rsa }] },
        environment: { PATH: "/bin", "": "" },
        annotations: { "com.example.a": "b" },
        accounts: { runAs: "65532", users: [{ username: "u", uid: 1 }], groups: [{ groupname: "g", members: ["u"] }] },
        certificates: { additional: [{ name: "ca", content: "PEM" }], providers: ["p"] },
      };
      const { uid } = await make({ name: "nginx", customOverlay: overlay });
      const { customOverlay } = JSON.parse((await world.raw("GET", `/registry/v2/repos/${uid}`)).text);
      assert.deepEqual(customOverlay.contents, overlay.contents);
      assert.deepEqual(customOverlay.annotations, overlay.annotations);
      assert.equal(customOverlay.accounts.users[0].username, "u");
      assert.equal((await change({ uid }, "custom_overlay")).customOverlay, undefined);
    });

    it("a custom overlay with reserved names or invalid keys is refused", async () => {
      const keyring = (name: string, content: string) => ({ contents: { runtimeKeyring: [{ name, content }] } });
      const at = "custom_overlay.contents.runtime_keyring[0]";
      const privateKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }).toString();
      for (const [field, customOverlay] of [
        ["custom_overlay.environment", { environment: { HOLT_X: "1" } }],
        ["custom_overlay.annotations", { annotations: { "dev.holt.x": "1" } }],
        ["custom_overlay.annotations", { annotations: { "org.opencontainers.image.title": "1" } }],
        [`${at}.name`, keyring(".hidden", rsa)],
        [`${at}.name`, keyring("a/b", rsa)],
        [`${at}.name`, keyring("", rsa)],
        [`${at}.content`, keyring("a", "nonsense")],
        [`${at}.content`, keyring("a", publicKey("ec"))],
        [`${at}.content`, keyring("a", privateKey)],
        ["custom_overlay.accounts.users[0].username", { accounts: { users: [{ uid: 1 }] } }],
        ["custom_overlay.accounts.users[0].uid", { accounts: { users: [{ username: "a", uid: -1 }] } }],
        ["custom_overlay.accounts.users[0].gid", { accounts: { users: [{ username: "a", gid: -1 }] } }],
        ["custom_overlay.accounts.groups[0].gid", { accounts: { groups: [{ groupname: "a", gid: -(2 ** 31) }] } }],
      ] as [string, RepoInit["customOverlay"] & object][]) {
        const violations = (await violationOf({ name: "nginx", customOverlay })) as { field: string }[];
        assert.deepEqual(
          violations.map((violation) => violation.field),
          [field],
        );
      }
    });
  });
});
