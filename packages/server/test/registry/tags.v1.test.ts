import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { eventData } from "../../src/outbox/event-context.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createTag, updateTag, deleteTag, listTags, listTagHistory } = Registry.method;
const digest = (character: string) => `sha256:${character.repeat(64)}`;

describeWithWorld("tags in version 1", (world) => {
  let registry: RegistryClient;
  let repo: string;
  let name: string;
  let repos = 0;
  before(() => {
    registry = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
  });
  after(() => registry[Symbol.dispose]());
  beforeEach(async () => {
    repos += 1;
    name = `tags-v1-${repos}`;
    repo = (await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name } })).uid;
  });

  const raw = async (verb: string, path: string, body?: unknown) => {
    const answer = await world.raw(verb, path, body);
    assert.equal(answer.status, 200, answer.text);
    return parse(answer.text);
  };
  const put = (tag: { name: string; digest?: string; deprecated?: boolean; bundles?: string[] }) =>
    raw("POST", `/registry/v1/tags/${repo}`, tag);
  /** Lists over REST and gRPC. @returns the names in order */
  async function list(filter: { [key: string]: unknown } = {}): Promise<string[]> {
    const answers = [];
    for (const client of world.clients) {
      const { items } = answerOf(await client.call(listTags, { uidp: { childrenOf: repo }, ...filter }, world.owner.token));
      answers.push(items.map((tag) => tag.name).sort());
    }
    assert.deepEqual(answers[0], answers[1]);
    return answers[0] as string[];
  }

  it("a tag of version 1 is complete in version 2, and the other way round", async () => {
    const made = await put({ name: "latest", digest: digest("a"), deprecated: true, bundles: ["fips", "base"] });
    const { id, lastUpdated, ...rest } = made;
    assert.deepEqual(rest, { name: "latest", digest: digest("a"), deprecated: true, bundles: ["fips", "base"] });
    assert.equal(lastUpdated, world.clock.now().toISOString());
    const v2 = await raw("GET", `/registry/v2/tags/${textOf(id)}`);
    assert.deepEqual(v2, {
      uid: id,
      name: "latest",
      digest: digest("a"),
      updateTime: lastUpdated,
      deprecated: true,
      bundles: ["fips", "base"],
    });
    const other = await world.must(TagsService.method.createTag, { parent: repo, tag: { name: "edge", digest: digest("b") } });
    const listed = await raw("GET", `/registry/v1/tags?id=${other.uid}`);
    assert.deepEqual(listed, {
      items: [{ id: other.uid, name: "edge", digest: digest("b"), lastUpdated, deprecated: false, bundles: [] }],
    });
  });

  it("a tag without a digest in an empty repo has a uid and breaks no pull, list, push or history", async () => {
    const made = await put({ name: "later" });
    assert.match(textOf(made.id), new RegExp(`^${repo}/[0-9a-f]{16}$`));
    assert.equal(made.digest, "");
    assert.deepEqual(await list(), ["later"]);
    assert.equal((await raw("GET", `/registry/v2/tags/${textOf(made.id)}`)).digest, "");
    assert.equal((await world.must(TagsService.method.listTags, { uidp: { childrenOf: repo } })).tags.length, 1);
    assert.equal((await registry.send("GET", `my-org/${name}/manifests/later`)).code, "MANIFEST_UNKNOWN");
    assert.deepEqual((await registry.send("GET", `my-org/${name}/tags/list`)).json(), { name: `my-org/${name}`, tags: [] });
    assert.deepEqual(await raw("GET", `/registry/v1/tags/${textOf(made.id)}/history`), { items: [] });

    const pushed = await registry.image(`my-org/${name}`, "later");
    assert.deepEqual(await raw("GET", `/registry/v1/tags?id=${textOf(made.id)}`), {
      items: [{ ...made, digest: pushed.digest, lastUpdated: world.clock.now().toISOString() }],
    });
    const events = await world.store.reader
      .selectFrom("outbox")
      .select(eventData().as("data"))
      .where("type", "like", "%registry.push.v1")
      .where("subject", "=", repo)
      .execute();
    const bodies = events.map(({ data }) => JSON.parse(data).body as { tag?: string; tag_previous_digest?: string });
    assert.deepEqual(
      bodies.filter(({ tag }) => tag === "later").map((body) => "tag_previous_digest" in body),
      [false],
    );
    assert.equal((await registry.send("GET", `my-org/${name}/manifests/later`)).status, 200);
  });

  it("tags without a digest can be deleted through the registry and through version 1", async () => {
    await put({ name: "a" });
    const b = await put({ name: "b" });
    assert.equal((await registry.send("DELETE", `my-org/${name}/manifests/a`)).status, 202);
    assert.deepEqual(await raw("DELETE", `/registry/v1/tags/${textOf(b.id)}`), {});
    assert.deepEqual(await list(), []);
    assert.equal((await world.must(TagsService.method.listTags, { uidp: { childrenOf: repo } })).totalCount, 0n);
    for (const client of world.clients)
      assert.equal(codeOf(await client.call(deleteTag, { id: textOf(b.id) }, world.owner.token)), Code.NOT_FOUND);
  });

  it("creating and updating without a digest keeps the present one", async () => {
    const { id } = await put({ name: "latest", digest: digest("a"), bundles: ["base"] });
    assert.deepEqual((await put({ name: "latest", deprecated: true })).digest, digest("a"));
    world.clock.advance(1000);
    const updated = await raw("PUT", `/registry/v1/tags/${textOf(id)}`, { name: "latest", bundles: ["fips"] });
    assert.deepEqual(updated, {
      id,
      name: "latest",
      digest: digest("a"),
      lastUpdated: world.clock.now().toISOString(),
      deprecated: false,
      bundles: ["fips"],
    });
    world.clock.advance(1000);
    assert.deepEqual(await raw("PUT", `/registry/v1/tags/${textOf(id)}`, updated), updated);
    assert.deepEqual(await raw("GET", `/registry/v1/tags?id=${textOf(id)}`), { items: [updated] });
  });

  it("an update can move and rename a tag, and its history follows", async () => {
    const { id } = await put({ name: "1.0", digest: digest("a") });
    await put({ name: "taken", digest: digest("a") });
    const update = (fields: object) => world.grpc.call(updateTag, { id: textOf(id), ...fields }, world.owner.token);
    assert.equal(errorOf(await update({ name: "taken" })).code, Code.ALREADY_EXISTS);
    assert.equal(errorOf(await update({ name: "a/b" })).code, Code.INVALID_ARGUMENT);
    assert.equal(errorOf(await update({ name: "1.0", digest: "x" })).code, Code.INVALID_ARGUMENT);
    world.clock.advance(1000);
    const moved = answerOf(await update({ name: "1.0-r1", digest: digest("b") }));
    assert.deepEqual([moved.id, moved.name, moved.digest], [id, "1.0-r1", digest("b")]);
    assert.deepEqual(await list({ excludeEpochs: true }), ["taken"]);
    assert.equal((await world.must(TagsService.method.listTags, { uidp: { childrenOf: repo } })).totalCount, 1n);
    const { items } = await raw("GET", `/registry/v1/tags/${textOf(id)}/history`);
    assert.deepEqual(items, [{ updateTimestamp: world.clock.now().toISOString(), digest: digest("b") }]);
    const missing = { id: `${repo}/0123456789abcdef`, name: "x" };
    assert.equal(codeOf(await world.rest.call(updateTag, missing, world.owner.token)), Code.NOT_FOUND);
  });

  it("a list shows all tags unless it excludes a class, and filters by name, digest, time and id", async () => {
    for (const tag of ["latest", "1.0-r1", "1.0-20240101", "sha256-abc"]) await put({ name: tag, digest: digest("a") });
    world.clock.advance(1000);
    const { id } = await put({ name: "other", digest: digest("b") });
    assert.deepEqual(await list(), ["1.0-20240101", "1.0-r1", "latest", "other", "sha256-abc"]);
    assert.deepEqual(await list({ excludeReferrers: true }), ["1.0-20240101", "1.0-r1", "latest", "other"]);
    assert.deepEqual(await list({ excludeDates: true, excludeEpochs: true }), ["latest", "other", "sha256-abc"]);
    assert.deepEqual(await list({ excludeEpochs: true, name: "1.0-r1" }), ["1.0-r1"]);
    assert.deepEqual(await list({ digest: digest("b") }), ["other"]);
    assert.deepEqual(await list({ id, uidp: undefined }), ["other"]);
    assert.deepEqual(await list({ id: `${repo}/0123456789abcdef`, uidp: undefined }), []);
    const seconds = BigInt(Math.floor(world.clock.now().getTime() / 1000));
    assert.deepEqual(await list({ updatedSince: { seconds, nanos: 0 } }), ["other"]);
  });

  it("the history of a tag has each of its digests, oldest first, within a range of time", async () => {
    const { id } = await put({ name: "latest", digest: digest("a") });
    const first = world.clock.now().toISOString();
    world.clock.advance(1000);
    await put({ name: "latest", digest: digest("b") });
    const second = world.clock.now().toISOString();
    const history = async (query = "") => (await raw("GET", `/registry/v1/tags/${textOf(id)}/history${query}`)).items;
    const [a, b] = [
      { updateTimestamp: first, digest: digest("a") },
      { updateTimestamp: second, digest: digest("b") },
    ];
    assert.deepEqual(await history(), [a, b]);
    assert.deepEqual(await history(`?start=${second}`), [b]);
    assert.deepEqual(await history(`?end=${first}`), [a]);
    const beyond = { seconds: 10n ** 15n };
    for (const range of [{ start: beyond }, { end: beyond }])
      assert.equal(
        codeOf(await world.grpc.call(listTagHistory, { parentId: textOf(id), ...range }, world.owner.token)),
        Code.INVALID_ARGUMENT,
      );
    const unknown = { parentId: `${repo}/0123456789abcdef` };
    assert.deepEqual(answerOf(await world.grpc.call(listTagHistory, unknown, world.owner.token)).items, []);
  });

  it("each change of a tag emits its event to the organization", async () => {
    const { id } = await put({ name: "latest" });
    await raw("PUT", `/registry/v1/tags/${textOf(id)}`, { name: "latest", deprecated: true });
    await raw("PUT", `/registry/v1/tags/${textOf(id)}`, { name: "latest", deprecated: true });
    await raw("DELETE", `/registry/v1/tags/${textOf(id)}`);
    const events = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "group_uid", "body_type", "source"])
      .where("subject", "=", textOf(id))
      .orderBy("seq")
      .execute();
    assert.deepEqual(
      events.map(({ type, body_type }) => [type.split(".").at(-2), body_type]),
      [
        ["created", "platform.registry.v1.Tag"],
        ["updated", "platform.registry.v1.Tag"],
        ["deleted", "platform.registry.v1.DeleteTagRequest"],
      ],
    );
    assert.ok(events.every(({ group_uid, source }) => group_uid === world.orgUid && source.endsWith("/registry/v1/tags")));
  });

  it("tags of a repo are seen only with the right to list tags", async () => {
    await put({ name: "latest" });
    const stranger = await world.robot(world.orgUid, [Capability.CAP_REPO_LIST]);
    for (const client of world.clients) {
      assert.deepEqual(answerOf(await client.call(listTags, { uidp: { childrenOf: repo } }, stranger.token)).items, []);
      assert.equal(codeOf(await client.call(createTag, { repoId: repo, tag: { name: "x" } }, stranger.token)), Code.PERMISSION_DENIED);
    }
  });
});
