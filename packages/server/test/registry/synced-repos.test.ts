/** Tests repos that are synced from another one, on both stores. */
import assert from "node:assert/strict";
import { beforeEach, it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { CatalogTier, type Repo, type RepoSchema, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { CHUNK_SIZE } from "../../src/registry/sync/share-queue.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { repoCalls } from "../harness/registry/repo-calls.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createRepo, updateRepo, deleteRepo, getRepoReadme, updateRepoReadme } = ReposService.method;

type RepoInit = MessageInitShape<typeof RepoSchema>;

describeWithWorld("synced repos", (world) => {
  let group: string;
  beforeEach(async () => {
    group = await world.group(world.orgUid);
  });
  const { make, change, get } = repoCalls(world, () => group);

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
    for (const text of ["", "nonsense", "my-org/none", "other.example.com/my-org/none", `${group}/0123456789abcdef`, group, "A//b", "\0"]) {
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

    // A person who may list the source can edit the copy again.
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
