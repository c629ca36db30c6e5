import assert from "node:assert/strict";
import { beforeEach, it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { CatalogTier, Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { GrpcClient } from "../harness/raw-clients.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createRepo, updateRepo, listRepos, deleteRepo, getRepoCountBySource, updateRegistrySettings } = Registry.method;

describeWithWorld("repos in version 1", (world) => {
  let group: string;
  beforeEach(async () => {
    group = await world.group(world.orgUid);
  });
  const raw = async (verb: string, path: string, body?: unknown) => {
    const answer = await world.raw(verb, path, body);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const make = (repo: JsonObject, query = "") => raw("POST", `/registry/v1/repos/${group}${query}`, repo);
  const put = (id: unknown, repo: JsonObject) => raw("PUT", `/registry/v1/repos/${String(id)}`, repo);
  const show = async (id: unknown) => ((await raw("GET", `/registry/v1/repos?id=${String(id)}`)).items as JsonObject[])[0];

  const EMPTY = {
    catalogTier: "UNKNOWN",
    bundles: [],
    readme: "",
    sync_config: null,
    customOverlay: null,
    aliases: [],
    activeTags: [],
    description: "",
  };
  const FULL = {
    catalogTier: "FIPS",
    bundles: ["fips", "base", "fips"],
    readme: "# Readme\n\nof “é” & <b>\n",
    customOverlay: {
      contents: { packages: ["curl"], runtimeRepositories: [], runtimeKeyring: [] },
      environment: { TEXT: "a" },
      annotations: { "com.example.a": "b" },
      accounts: {
        groups: [{ gid: 65532, groupName: "nonroot", members: ["a"] }],
        users: [{ uid: 65532, userName: "nonroot", gid: 65532, groupName: "nonroot", shell: "/bin/sh", homeDir: "/home/nonroot" }],
        runAs: "nonroot",
      },
      certificates: { additional: [{ name: "ca", content: "PEM" }], providers: ["a"] },
    },
    aliases: ["b/image:1", "a:2"],
    activeTags: ["latest", "1.0"],
    description: "An image",
  };

  it("a repo of version 1 is complete in version 2 and in a list, byte for byte", async () => {
    const made = await make({ name: "1password", ...FULL });
    const { id, createTime, ...rest } = made;
    assert.deepEqual(rest, { name: "1password", ...FULL, sync_config: null });
    assert.equal(createTime, world.clock.now().toISOString());
    assert.deepEqual(await show(id), made);
    const v2 = await raw("GET", `/registry/v2/repos/${textOf(id)}`);
    assert.deepEqual(
      [v2.uid, v2.catalogTier, v2.bundles, v2.aliases, v2.activeTags, v2.createTime],
      [id, "CATALOG_TIER_FIPS", FULL.bundles, FULL.aliases, FULL.activeTags, createTime],
    );
    assert.deepEqual(((v2.customOverlay as JsonObject).accounts as JsonObject).users, [
      { username: "nonroot", uid: 65532, gid: 65532, groupName: "nonroot", shell: "/bin/sh", homeDir: "/home/nonroot" },
    ]);
    assert.equal((await raw("GET", `/registry/v2/repos/${textOf(id)}/readme`)).content, FULL.readme);
    const { items } = answerOf(await world.grpc.call(listRepos, { id: textOf(id) }, world.owner.token));
    assert.deepEqual([items[0]?.readme, items[0]?.catalogTier], [FULL.readme, CatalogTier.FIPS]);
  });

  it("a repo of version 2 is complete in version 1, and what was not sent stays empty", async () => {
    const { uid } = await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "plain" } });
    const { id, createTime, ...rest } = (await show(uid)) as JsonObject;
    assert.deepEqual(rest, { name: "plain", ...EMPTY });
    assert.deepEqual([id, createTime], [uid, world.clock.now().toISOString()]);
    assert.deepEqual(await show(`${group}/0123456789abcdef`), undefined);
  });

  it("every tier has the same name in both versions", async () => {
    for (const tier of ["APPLICATION", "BASE", "FIPS", "AI", "DEVTOOLS", "COMMERCIAL"]) {
      const { id, catalogTier } = await make({ name: tier.toLowerCase(), catalogTier: tier });
      assert.equal(catalogTier, tier);
      assert.equal((await raw("GET", `/registry/v2/repos/${textOf(id)}`)).catalogTier, `CATALOG_TIER_${tier}`);
    }
    const unknown = { parentId: group, repo: { name: "x", catalogTier: 1 as CatalogTier } };
    assert.equal(errorOf(await world.grpc.call(createRepo, unknown, world.owner.token)).code, Code.INVALID_ARGUMENT);
  });

  it("creating a repo again updates it, unless the request prevents that", async () => {
    const made = await make({ name: "nginx", ...FULL });
    world.clock.advance(5000);
    const again = await make({ name: "nginx", description: "later" });
    const { customOverlay } = FULL;
    assert.deepEqual(again, { ...EMPTY, id: made.id, name: "nginx", description: "later", customOverlay, createTime: made.createTime });
    assert.deepEqual(await show(made.id), again);
    const refused = await world.raw("POST", `/registry/v1/repos/${group}?prevent_existing=true`, { name: "nginx" });
    assert.equal(refused.status, 409, refused.text);
    assert.equal((await make({ name: "other" }, "?preventExisting=true")).name, "other");
  });

  it("creating a repo again changes it only for callers who may update it", async () => {
    await make({ name: "nginx", description: "first" });
    const creator = await world.robot(world.orgUid, [Capability.CAP_REPO_CREATE, Capability.CAP_REPO_LIST]);
    for (const client of world.clients) {
      const ask = async (description: string) =>
        codeOf(await client.call(createRepo, { parentId: group, repo: { name: "nginx", description } }, creator.token));
      assert.equal(await ask("second"), Code.PERMISSION_DENIED);
      assert.equal(await ask("first"), 0);
    }
  });

  it("creating a repo again shows it only to callers who may list or update it", async () => {
    const { id } = await make({ name: "nginx", customOverlay: FULL.customOverlay });
    const ask = async (...capabilities: Capability[]) => {
      const { token } = await world.robot(group, [Capability.CAP_REPO_CREATE, ...capabilities]);
      return world.grpc.call(createRepo, { parentId: group, repo: { name: "nginx" } }, token);
    };
    assert.equal(codeOf(await ask()), Code.PERMISSION_DENIED);
    for (const capability of [Capability.CAP_REPO_LIST, Capability.CAP_REPO_UPDATE]) assert.equal(answerOf(await ask(capability)).id, id);
  });

  it("many concurrent creations of a repo result in one repo", async () => {
    const request = { parentId: group, repo: { name: "race" } };
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => world.grpc.call(createRepo, request, world.owner.token)));
    assert.equal(new Set(outcomes.map((outcome) => answerOf(outcome).id)).size, 1);
  });

  it("creating a repo never fails because version 2 creates it at the same moment", async () => {
    for (let round = 0; round < 15; round++) {
      const name = `moment-${round}`;
      const [first, second] = await Promise.all([
        world.raw("POST", `/registry/v1/repos/${group}`, { name }),
        world.raw("POST", `/registry/v2/repos/${group}`, { name }),
      ]);
      assert.equal(first.status, 200, first.text);
      assert.ok(second.status === 200 || second.status === 409, second.text);
    }
  });

  it("an update replaces the repo but leaves an absent sync configuration and overlay alone", async () => {
    const source = await make({ name: "source", bundles: ["ai"] });
    const { id } = await make({ name: "nginx", sync_config: { source: source.id ?? "" }, customOverlay: FULL.customOverlay });
    const updated = await put(id, { name: "renamed", description: "new" });
    assert.deepEqual([updated.name, updated.description, updated.bundles], ["renamed", "new", ["ai"]]);
    assert.deepEqual(updated.customOverlay, FULL.customOverlay);
    assert.equal((updated.sync_config as JsonObject).source, source.id);
    const cleared = await put(id, { name: "renamed", sync_config: {}, customOverlay: {} });
    assert.deepEqual([cleared.sync_config, cleared.customOverlay], [null, null]);
    assert.deepEqual(await show(id), cleared);
    assert.equal((await put(id, { description: "without a name" })).name, "renamed");
  });

  it("the group id 0 of a user differs from none, and APKs stay synced, in every answer of version 1", async () => {
    const source = textOf((await make({ name: "source" })).id);
    const user = { uid: 7, groupName: "", shell: "", homeDir: "" };
    const users = [
      { ...user, userName: "in-root", gid: 0 },
      { ...user, userName: "in-none" },
      { ...user, userName: "in-other", gid: 5 },
    ];
    const overlayOf = (someUsers: JsonObject[]) => ({ accounts: { groups: [], users: someUsers, runAs: "" } });
    const userOf = (repo: JsonObject) => ((repo.customOverlay as JsonObject).accounts as JsonObject).users;
    const shownIn = (repo: JsonObject = {}) => [(repo.sync_config as JsonObject).syncApks, userOf(repo)];
    const made = await make({ name: "kept", sync_config: { source, syncApks: true }, customOverlay: overlayOf(users) });
    const id = textOf(made.id);
    for (const repo of [made, await show(id), await put(id, { name: "kept", description: "later" }), await put(id, made)])
      assert.deepEqual(shownIn(repo), [true, users]);
    const { items } = answerOf(await world.grpc.call(listRepos, { id }, world.owner.token));
    assert.deepEqual(
      items[0]?.customOverlay?.accounts?.users.map(({ gid }) => gid),
      [0, undefined, 5],
    );
    assert.equal((await world.raw("PATCH", `/registry/v2/repos/${id}`, { description: "by version 2" })).status, 200);
    assert.deepEqual(shownIn(await show(id)), [true, users]);
    const others = [users[1], users[0]] as JsonObject[];
    const changed = await put(id, { name: "kept", sync_config: { source }, customOverlay: overlayOf(others) });
    assert.deepEqual(
      [shownIn(changed), shownIn(await show(id))],
      [
        [false, others],
        [false, others],
      ],
    );
    const events = await world.store.reader.selectFrom("outbox").select("type").where("subject", "=", id).execute();
    assert.equal(events.filter(({ type }) => type.endsWith(".updated.v1")).length, 4);
  });

  it("ids of users and groups that version 2 cannot show are refused by their place", async () => {
    const tooLarge = 2 ** 31;
    const accounts = {
      users: [{ userName: "a" }, { userName: "b", uid: tooLarge, gid: tooLarge }],
      groups: [{ groupName: "c", gid: 2 ** 32 - 1 }],
    };
    const answer = await world.raw("POST", `/registry/v1/repos/${group}`, { name: "nginx", customOverlay: { accounts } });
    const at = "custom_overlay.accounts";
    assertInvalid(answer, `${at}.users[1].uid`, `${at}.users[1].gid`, `${at}.groups[0].gid`);
  });

  it("an update changes the readme, and refuses unsafe HTML", async () => {
    const { id } = await make({ name: "nginx", readme: "# One" });
    assert.equal((await put(id, { name: "nginx", readme: "# Two" })).readme, "# Two");
    const answer = await world.raw("PUT", `/registry/v1/repos/${textOf(id)}`, { name: "nginx", readme: "<script>x</script>" });
    assertInvalid(answer, "readme");
    assert.match(answer.text, /readme contained unsafe html content/);
    assert.equal((await show(id))?.readme, "# Two");
    assert.equal((await put(id, { name: "nginx" })).readme, "");
    assert.equal((await raw("GET", `/registry/v2/repos/${textOf(id)}/readme`)).content, "");
  });

  it("a synced repo keeps what version 1 sets, and shows the readme of its source", async () => {
    const source = await make({ name: "source", readme: "# Source" });
    const sync = {
      source: source.id ?? "",
      uniqueTags: true,
      expiration: "2031-02-03T04:05:06.000Z",
      google: "g",
      amazon: "a",
      azure: "z",
      syncApks: false,
      apkoOverlay: "overlay",
      gracePeriod: true,
    };
    const made = await make({ name: "copy", sync_config: sync });
    assert.deepEqual([made.sync_config, made.readme], [sync, "# Source"]);
    assert.deepEqual(await show(made.id), made);
    const { readme, ...echo } = made;
    assert.deepEqual(await put(made.id, { ...echo, readme: readme ?? "" }), made);
    assert.deepEqual(await put(made.id, echo), made);
    const refused = await world.raw("PUT", `/registry/v1/repos/${textOf(made.id)}`, { ...echo, readme: "# Other" });
    assertInvalid(refused, "readme");
    const count = (uid: unknown) => world.must(getRepoCountBySource, { id: String(uid) });
    assert.equal((await count(source.id)).count, 1n);
    assert.equal((await count(made.id)).count, 0n);
  });

  it("a new sync begins with the settings of the registry", async () => {
    const keeper = await world.robot(world.orgUid, [Capability.CAP_REGISTRY_SETTINGS_UPDATE]);
    answerOf(await world.grpc.call(updateRegistrySettings, { registryId: group, uniqueTags: true, eolGracePeriod: true }, keeper.token));
    const source = await make({ name: "source" });
    const { uid } = await world.must(ReposService.method.createRepo, {
      parent: group,
      repo: { name: "copy", syncConfig: { source: textOf(source.id) } },
    });
    const shown = ((await show(uid)) as JsonObject).sync_config as JsonObject;
    assert.deepEqual([shown.uniqueTags, shown.gracePeriod], [true, true]);
    const changed = await put(uid, { name: "copy", sync_config: { source: source.id ?? "" } });
    assert.equal((changed.sync_config as JsonObject).uniqueTags, false);
  });

  it("large readmes of a list do not leave out a repo or a readme", async () => {
    const readme = "x".repeat(200_000);
    const names = Array.from({ length: 12 }, (_, i) => `large-${i}`);
    for (const name of names) await make({ name, readme });
    for (const client of world.clients) {
      const { items } = answerOf(await client.call(listRepos, { uidp: { childrenOf: group } }, world.owner.token));
      assert.deepEqual(items.map(({ name }) => name).sort(), names.toSorted());
      assert.ok(items.every((item) => item.readme === readme));
    }
  });

  it("deleting a repo answers an empty object, and a missing one is NOT_FOUND", async () => {
    const { id } = await make({ name: "gone" });
    assert.deepEqual(await raw("DELETE", `/registry/v1/repos/${textOf(id)}`), {});
    for (const client of world.clients) {
      assert.equal(codeOf(await client.call(deleteRepo, { id: textOf(id) }, world.owner.token)), Code.NOT_FOUND);
      assert.equal(codeOf(await client.call(updateRepo, { id: textOf(id), name: "x" }, world.owner.token)), Code.NOT_FOUND);
    }
    assert.deepEqual(await raw("GET", `/registry/v1/repos?id=${textOf(id)}`), { items: [] });
  });

  it("each change of a repo emits one event with the repo of version 1", async () => {
    const { id } = await make({ name: "nginx", readme: "# A" });
    await make({ name: "nginx", readme: "# A" });
    await put(id, { name: "nginx", readme: "# B" });
    await put(id, { name: "nginx", readme: "# B" });
    await raw("DELETE", `/registry/v1/repos/${textOf(id)}`);
    const events = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "group_uid", "body_type", "data"])
      .where("subject", "=", textOf(id))
      .orderBy("seq")
      .execute();
    assert.deepEqual(
      events.map(({ type, body_type }) => [type.split(".").at(-2), body_type.split(".").at(-1)]),
      [
        ["created", "Repo"],
        ["updated", "Repo"],
        ["deleted", "DeleteRepoRequest"],
      ],
    );
    assert.ok(events.every(({ group_uid }) => group_uid === group));
    assert.equal(JSON.parse(events[1]?.data ?? "").body.readme, "# B");
  });

  it("an update of a synced repo without a readme emits one event", async () => {
    const source = await make({ name: "source", readme: "# Source" });
    const { id } = await make({ name: "synced", readme: "# Source", sync_config: { source: textOf(source.id) } });
    const answer = await put(id, { name: "synced", description: "changed" });
    assert.equal(answer.readme, "# Source");
    const events = await world.store.reader.selectFrom("outbox").select("type").where("subject", "=", textOf(id)).orderBy("seq").execute();
    assert.deepEqual(
      events.map(({ type }) => type.split(".").at(-2)),
      ["created", "updated"],
    );
  });
});

describeWithWorld(
  "the registry of version 1 with a vendor profile",
  (world) => {
    it("repos and tags are served under the vendor's service name, which has no version", async () => {
      using client = new GrpcClient(Number(new URL(world.baseUrl).port));
      const metadata = new Metadata();
      metadata.set("authorization", `Bearer ${world.owner.token}`);
      const options = { service: "chainguard.platform.registry.Registry", metadata };
      const repo = await client.call(createRepo, { parentId: world.orgUid, repo: { name: "nginx", readme: "# A" } }, options);
      const tag = await client.call(Registry.method.createTag, { repoId: String(repo.id), tag: { name: "latest" } }, options);
      const { items } = await client.call(listRepos, { id: String(repo.id) }, options);
      assert.deepEqual([(items as (typeof repo)[])[0]?.readme, tag.digest], ["# A", ""]);
      const event = await world.store.reader
        .selectFrom("outbox")
        .select(["body_type", "type"])
        .where("subject", "=", String(tag.id))
        .executeTakeFirstOrThrow();
      assert.equal(event.body_type, "chainguard.platform.registry.Tag");
    });
  },
  { env: { HOLT_VENDOR_PROFILE: "chainguard" } },
);
