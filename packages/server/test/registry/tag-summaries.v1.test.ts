import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetRepoTagsSummaryRequestSchema,
  Registry,
  SyncStatus_Status as Status,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import type { WriteDb } from "../../src/db/store.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse } from "../harness/json.ts";
import { createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getRepoTagsSummary, getUpdateStatus, getManifestDigestCount, getSyncStatus, listSyncStatuses } = Registry.method;
const digest = (character: string) => `sha256:${character.repeat(64)}`;
const DAY_MS = 24 * 60 * 60 * 1000;

describeWithWorld("summaries of repos in version 1", (world) => {
  let registry: RegistryClient;
  let group: string;
  let repo: string;
  let folder: string;
  let folders = 0;
  before(() => {
    registry = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
  });
  after(() => registry[Symbol.dispose]());
  beforeEach(async () => {
    folders += 1;
    folder = `summaries-${folders}`;
    group = await world.group(world.orgUid, folder);
    repo = await createRepo("nginx");
  });

  const createRepo = async (name: string, source?: string) =>
    (
      await world.must(ReposService.method.createRepo, {
        parent: group,
        repo: { name, ...(source !== undefined && { syncConfig: { source } }) },
      })
    ).uid;
  const tag = (name: string, character: string) =>
    world.must(TagsService.method.createTag, { parent: repo, tag: { name, digest: digest(character) } });
  const summaryOf = async (filter: Partial<MessageInitShape<typeof GetRepoTagsSummaryRequestSchema>> = {}) => {
    const { id, tagCount, latestTag, latestVersion } = answerOf(
      await world.grpc.call(getRepoTagsSummary, { ...filter, repoId: repo } as never, world.owner.token),
    );
    assert.equal(id, repo);
    return [Number(tagCount), latestTag?.name, latestVersion];
  };

  it("a repo without tags has only the count", async () => {
    const { text } = await world.raw("GET", `/registry/v1/repotagssummary/${repo}`);
    assert.deepEqual(parse(text), { id: repo, tagCount: "0", lastUpdated: null, latestTag: null, latestVersion: "" });
  });

  it("a summary has the count, the latest tag and the longest name of its digest under the filter", async () => {
    await tag("1.27", "a");
    world.clock.advance(1000);
    await tag("1.27.3-r4", "a");
    await tag("sha256-abc", "c");
    await tag("1.27.3-r4-20240101", "a");
    assert.deepEqual(await summaryOf({ excludeReferrers: true, excludeDates: true, excludeEpochs: true }), [1, "1.27", "1.27"]);
    assert.deepEqual(await summaryOf({ excludeReferrers: true, excludeDates: true }), [2, "1.27.3-r4", "1.27.3-r4"]);
    await world.must(TagsService.method.createTag, { parent: repo, tag: { name: "latest", digest: digest("a") } });
    await world.must(TagsService.method.createTag, { parent: repo, tag: { name: "latest-dev", digest: digest("a") } });
    world.clock.advance(1000);
    await tag("edge", "b");
    assert.deepEqual(await summaryOf(), [7, "latest", "1.27.3-r4-20240101"]);
    assert.deepEqual(await summaryOf({ excludeDates: true }), [6, "latest", "1.27.3-r4"]);
    const { text } = await world.raw("GET", `/registry/v1/repotagssummary/${repo}`);
    assert.equal(parse(text).lastUpdated, world.clock.now().toISOString());
  });

  it("a latest tag without a digest has no version", async () => {
    answerOf(await world.rest.call(Registry.method.createTag, { repoId: repo, tag: { name: "latest" } }, world.owner.token));
    answerOf(await world.rest.call(Registry.method.createTag, { repoId: repo, tag: { name: "other" } }, world.owner.token));
    assert.deepEqual(await summaryOf(), [2, "latest", ""]);
  });

  it("a repo is recently updated for a day after the last change of a tag", async () => {
    const isRecent = async () => (await world.must(getUpdateStatus, { repoId: repo })).recentlyUpdated;
    assert.equal(await isRecent(), false);
    await tag("latest", "a");
    assert.equal(await isRecent(), true);
    const update_time = new Date(world.clock.now().getTime() - DAY_MS - 1000).toISOString();
    await world.store.transaction((db) => db.updateTable("tag").set({ update_time }).where("parent", "=", repo).execute());
    assert.equal(await isRecent(), false);
  });

  it("the number of digests counts the manifests of a repo or of a group", async () => {
    await registry.image(`my-org/${folder}/nginx`, "a");
    await registry.image(`my-org/${folder}/nginx`, "b");
    await createRepo("other");
    await registry.image(`my-org/${folder}/other`, "a");
    const count = async (parentId: string) => Number((await world.must(getManifestDigestCount, { parentId })).count);
    assert.deepEqual([await count(repo), await count(group)], [2, 3]);
  });

  it("the status of a sync is FAILED once its source is gone or it has expired, and UNKNOWN before", async () => {
    const copy = await createRepo("copy", repo);
    const orphan = await createRepo("orphan", await createRepo("lost"));
    const status = async (repoId: string) => (await world.must(getSyncStatus, { repoId })).status;
    assert.deepEqual([await status(repo), await status(copy), await status(orphan)], [Status.UNKNOWN, Status.UNKNOWN, Status.UNKNOWN]);
    const lost = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: group }, name: "lost" });
    await world.must(ReposService.method.deleteRepo, { uid: lost.repos[0]?.uid ?? "" });
    const list = async () => {
      const { items } = await world.must(listSyncStatuses, { registryId: group });
      return Object.fromEntries(items.map((item) => [item.repoId, item.repoStatus?.status]));
    };
    assert.deepEqual(await list(), { [copy]: Status.UNKNOWN, [orphan]: Status.FAILED });
    const expired = { source: repo, expiration: new Date(world.clock.now().getTime() - 1000).toISOString() };
    assert.equal((await world.raw("PUT", `/registry/v1/repos/${copy}`, { sync_config: expired })).status, 200);
    assert.deepEqual(await list(), { [copy]: Status.FAILED, [orphan]: Status.FAILED });
    const missing = { repoId: `${group}/0123456789abcdef` };
    assert.equal(codeOf(await world.grpc.call(getSyncStatus, missing, world.owner.token)), Code.NOT_FOUND);
  });

  it("the statuses of more syncs than are read at once are listed completely and once", async () => {
    const first = await createRepo("copy", repo);
    const row = await world.store.reader.selectFrom("repo").selectAll().where("uid", "=", first).executeTakeFirstOrThrow();
    const uids = Array.from({ length: 450 }, (_, i) => `${group}/${i.toString(16).padStart(16, "0")}`);
    await world.store.transaction(async (db) => {
      for (const uid of uids)
        await db
          .insertInto("repo")
          .values({ ...row, uid, name: uid.slice(-16) })
          .execute();
    });
    const { items } = await world.must(listSyncStatuses, { registryId: group });
    assert.deepEqual(
      items.map(({ repoId }) => repoId),
      [first, ...uids].sort(),
    );
  });

  it("the status of a sync is QUEUED or IN_PROGRESS while changed fields of the source are on their way", async () => {
    const copy = await createRepo("copy", repo);
    const request_time = world.clock.now().toISOString();
    const status = async () => {
      const { status: state, createTime } = await world.must(getSyncStatus, { repoId: copy });
      return [state, createTime !== undefined];
    };
    const lease_time = new Date(world.clock.now().getTime() + 60_000).toISOString();
    const entry = { source_uid: repo, after: "", request_time, lease_holder: "another server", lease_time };
    await world.store.transaction((db) => db.insertInto("repo_share").values(entry).execute());
    assert.deepEqual(await status(), [Status.IN_PROGRESS, true]);
    await world.store.transaction((db) => db.updateTable("repo_share").set({ after: copy }).where("source_uid", "=", repo).execute());
    assert.deepEqual(await status(), [Status.UNKNOWN, false]);
  });

  it("the status of a sync is QUEUED under the lease of a server whose clock was ahead", async () => {
    const copy = await createRepo("copy", repo);
    const now = world.clock.now();
    const lease_time = new Date(now.getTime() + DAY_MS).toISOString();
    const entry = { source_uid: repo, after: "", request_time: now.toISOString(), lease_holder: "another server", lease_time };
    await until(async () => {
      // The server may have copied the fields already, and removed the row.
      const insert = (db: WriteDb) =>
        db
          .insertInto("repo_share")
          .values(entry)
          .onConflict((conflict) => conflict.column("source_uid").doUpdateSet(entry));
      await world.store.transaction((db) => insert(db).execute());
      return (await world.must(getSyncStatus, { repoId: copy })).status === Status.QUEUED;
    });
  });
});
