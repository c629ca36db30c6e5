import assert from "node:assert/strict";
import { beforeEach, it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { type ListTagsRequestSchema, type TagSchema, TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { describeWithWorld } from "../harness/world.ts";

type ListRequest = Omit<Extract<MessageInitShape<typeof ListTagsRequestSchema>, { $typeName?: never }>, "$typeName">;
const { createTag, getTag, listTags, deleteTag } = TagsService.method;
const digest = (character: string) => `sha256:${character.repeat(64)}`;

describeWithWorld("tags", (world) => {
  let group: string;
  let repo: string;
  beforeEach(async () => {
    group = await world.group(world.orgUid);
    repo = (await world.must(ReposService.method.createRepo, { parent: group, repo: { name: "nginx" } })).uid;
  });

  const put = (tag: MessageInitShape<typeof TagSchema>, token?: string) => world.must(createTag, { parent: repo, tag }, token);
  /** Lists with both world.clients. @returns the names and the total count */
  async function list(request: ListRequest = {}): Promise<[string[], number]> {
    const pages = [];
    for (const client of world.clients) {
      const { tags, totalCount } = answerOf(
        await client.call(listTags, { uidp: { childrenOf: repo }, orderBy: "name", ...request }, world.owner.token),
      );
      pages.push([tags.map(({ name }) => name), Number(totalCount)] as [string[], number]);
    }
    assert.deepEqual(pages[0], pages[1]);
    return pages[0]!;
  }

  it("creating an existing tag moves it: the uid stays and the update time changes", async () => {
    const made = await put({ name: "latest", digest: digest("a"), bundles: ["fips", "base", "fips"] });
    assert.match(made.uid, new RegExp(`^${repo}/[0-9a-f]{16}$`));
    world.clock.advance(1000);
    const moved = await put({ name: "latest", digest: digest("b"), deprecated: true });
    assert.equal(moved.uid, made.uid);
    assert.deepEqual([moved.digest, moved.deprecated, moved.bundles], [digest("b"), true, []]);
    assert.equal(Number(moved.updateTime?.seconds) - Number(made.updateTime?.seconds), 1);
    const text = (await world.raw("GET", `/registry/v2/tags/${made.uid}`)).text;
    assert.deepEqual(JSON.parse(text), {
      uid: made.uid,
      name: "latest",
      digest: digest("b"),
      updateTime: world.clock.now().toISOString(),
      deprecated: true,
      bundles: [],
    });
    world.clock.advance(1000);
    assert.deepEqual((await put({ name: "latest", digest: digest("b"), deprecated: true })).updateTime, moved.updateTime);
    assert.equal((await world.must(listTags, { uidp: { childrenOf: repo } })).totalCount, 1n);
  });

  it("the history of a tag keeps each of its digests, even after the tag is deleted", async () => {
    const history = () =>
      world.store.reader.selectFrom("tag_history").select(["tag", "digest", "actor"]).where("repo_uid", "=", repo).orderBy("seq").execute();
    const robot = await world.robot(group, [Capability.CAP_TAG_CREATE]);
    await put({ name: "latest", digest: digest("a") });
    await put({ name: "latest", digest: digest("a"), deprecated: true });
    const { uid } = await put({ name: "latest", digest: digest("b") }, robot.token);
    await put({ name: "latest", digest: digest("a") });
    await world.must(deleteTag, { uid });
    assert.deepEqual(
      (await history()).map((row) => [row.tag, row.digest, row.actor]),
      [
        ["latest", digest("a"), world.owner.uid],
        ["latest", digest("b"), robot.uid],
        ["latest", digest("a"), world.owner.uid],
      ],
    );
  });

  it("each change of a tag emits one event to its organization", async () => {
    const { uid } = await put({ name: "latest", digest: digest("a") });
    await put({ name: "latest", digest: digest("b") });
    await put({ name: "latest", digest: digest("b") });
    await world.must(deleteTag, { uid });
    const events = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "group_uid"])
      .where("subject", "=", uid)
      .orderBy("seq")
      .execute();
    assert.deepEqual(
      events.map((event) => event.type.split(".").at(-2)),
      ["created", "created", "deleted"],
    );
    assert.ok(events.every((event) => event.group_uid === world.orgUid));
  });

  it("many concurrent creations of a tag result in one tag", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        world.grpc.call(createTag, { parent: repo, tag: { name: "race", digest: digest(String(i)) } }, world.owner.token),
      ),
    );
    assert.equal(new Set(outcomes.map((outcome) => answerOf(outcome).uid)).size, 1);
    assert.deepEqual(await list(), [["race"], 1]);
  });

  it("a tag with an invalid name, digest or bundle, or without a repo, is refused", async () => {
    for (const client of world.clients) {
      const ask = (tag: MessageInitShape<typeof TagSchema>, parent = repo) => client.call(createTag, { parent, tag }, world.owner.token);
      for (const name of ["", "-x", "a b", "a/b", "x".repeat(129)]) {
        const { code, message } = errorOf(await ask({ name, digest: digest("a") }));
        assert.equal(code, Code.INVALID_ARGUMENT);
        assert.equal(message, 'Invalid argument: name: tag must match "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$"');
      }
      for (const bad of [
        "",
        "sha256:",
        digest("A"),
        digest("a").slice(1),
        `${digest("a")}0`,
        `sha512:${"a".repeat(64)}`,
        `md5:${"a".repeat(32)}`,
      ]) {
        const { code, message } = errorOf(await ask({ name: "x", digest: bad }));
        assert.equal(code, Code.INVALID_ARGUMENT);
        assert.match(message, /^Invalid argument: digest: /);
      }
      assert.match(errorOf(await ask({ name: "x", digest: digest("a"), bundles: ["x"] })).message, /^Invalid argument: bundles: only the/);
      for (const parent of [group, `${group}/0123456789abcdef`])
        assert.equal(codeOf(await ask({ name: "x", digest: digest("a") }, parent)), Code.NOT_FOUND);
      assert.equal(codeOf(await client.call(deleteTag, { uid: `${repo}/0123456789abcdef` }, world.owner.token)), Code.NOT_FOUND);
    }
    assert.equal((await put({ name: "x", digest: `sha512:${"a".repeat(128)}` })).name, "x");
    assert.deepEqual(await list(), [["x"], 1]);
  });

  it("tags of referrers, dates and epochs are listed and counted only on request", async () => {
    const plain = ["1.27", "1.27-dev", "latest", "r1", "x-2026010", "x-rc"];
    for (const name of [...plain, "1.27-r3", "1.27-20260102", "1.27-20260102-r3", "sha256-abc", "sha256-abc-r1"])
      await put({ name, digest: digest("a") });
    const beyond = async (request: ListRequest) => {
      const [names, total] = await list(request);
      assert.equal(total, names.length);
      assert.deepEqual(
        names.filter((name) => plain.includes(name)),
        plain,
      );
      return names.filter((name) => !plain.includes(name));
    };
    assert.deepEqual(await beyond({}), []);
    assert.deepEqual(await beyond({ includeEpochs: true }), ["1.27-20260102-r3", "1.27-r3"].sort());
    assert.deepEqual(await beyond({ includeDates: true }), ["1.27-20260102"]);
    assert.deepEqual(await beyond({ includeReferrers: true }), ["sha256-abc"]);
    assert.deepEqual(await beyond({ includeReferrers: true, includeEpochs: true }), [
      "1.27-20260102-r3",
      "1.27-r3",
      "sha256-abc",
      "sha256-abc-r1",
    ]);
    assert.equal((await beyond({ includeReferrers: true, includeDates: true, includeEpochs: true })).length, 5);
    assert.deepEqual(await list({ name: "sha256-abc-r1" }), [["sha256-abc-r1"], 1]);
    assert.deepEqual(await list({ pageSize: 2 }), [plain.slice(0, 2), plain.length]);
    const [names, total] = await list({ uidp: { descendantsOf: group } });
    assert.deepEqual([names, total], [plain, plain.length]);
    assert.equal((await world.must(listTags, { pageSize: 1 })).totalCount! >= 6n, true);
    for (const { uid, name } of (await world.must(listTags, { uidp: { childrenOf: repo } })).tags)
      if (name !== "latest") await world.must(deleteTag, { uid });
    assert.deepEqual(await list(), [["latest"], 1]);
  });

  it("tags are found by digest, by name and by time of change", async () => {
    const start = world.clock.now();
    await put({ name: "a", digest: digest("a") });
    world.clock.advance(10);
    const b = await put({ name: "b", digest: digest("b") });
    world.clock.advance(10);
    await put({ name: "c", digest: digest("a") });
    assert.deepEqual(await list({ digest: digest("a") }), [["a", "c"], 2]);
    assert.deepEqual(await list({ digest: digest("c") }), [[], 0]);
    assert.deepEqual(await list({ digest: "\0" }), [[], 0]);
    assert.deepEqual(await list({ name: "b" }), [["b"], 1]);
    assert.deepEqual(await list({ updatedSince: b.updateTime! }), [["b", "c"], 2]);
    const justAfter = { seconds: b.updateTime!.seconds, nanos: b.updateTime!.nanos + 1 };
    assert.deepEqual(await list({ updatedSince: justAfter }), [["c"], 1]);
    assert.deepEqual(await list({ updatedSince: { seconds: BigInt(Math.floor(start.getTime() / 1000)) - 100n } }), [["a", "b", "c"], 3]);
    assert.deepEqual(await list({ orderBy: "last_updated desc" }), [["c", "b", "a"], 3]);
    assert.deepEqual(await list({ orderBy: "update_time" }), [["a", "b", "c"], 3]);
    for (const orderBy of ["create_time", "digest"])
      assert.equal(codeOf(await world.rest.call(listTags, { orderBy }, world.owner.token)), Code.INVALID_ARGUMENT);
    const never = await world.grpc.call(listTags, { updatedSince: { seconds: 1n << 60n } }, world.owner.token);
    assert.equal(codeOf(never), Code.INVALID_ARGUMENT);
  });

  it("a page token of tags keeps the parameters of the first page", async () => {
    for (const name of ["a", "b", "c", "c-r1"]) await put({ name, digest: digest("a") });
    const first = await world.must(listTags, { uidp: { childrenOf: repo }, orderBy: "name desc", pageSize: 2 });
    assert.deepEqual(
      first.tags.map(({ name }) => name),
      ["c", "b"],
    );
    const page = { uidp: { childrenOf: repo }, orderBy: "name desc", pageSize: 2, pageToken: first.nextPageToken };
    assert.deepEqual(
      (await world.must(listTags, page)).tags.map(({ name }) => name),
      ["a"],
    );
    const other = await world.rest.call(listTags, { ...page, includeEpochs: true }, world.owner.token);
    assert.equal(codeOf(other), Code.INVALID_ARGUMENT);
  });

  it("tags need tag.list, tag.create and tag.delete", async () => {
    const tag = { name: "a", digest: digest("a") };
    const { uid } = await put(tag);
    const robots = {
      reader: await world.robot(group, [Capability.CAP_TAG_LIST]),
      writer: await world.robot(group, [Capability.CAP_TAG_CREATE]),
      remover: await world.robot(group, [Capability.CAP_TAG_DELETE]),
    };
    for (const client of world.clients) {
      for (const [name, robot] of Object.entries(robots)) {
        const expected = (needed: string) => (name === needed ? 0 : Code.PERMISSION_DENIED);
        assert.equal(codeOf(await client.call(getTag, { uid }, robot.token)), expected("reader"));
        assert.equal(codeOf(await client.call(createTag, { parent: repo, tag }, robot.token)), expected("writer"));
        const gone = `${repo}/0123456789abcdef`;
        assert.equal(
          codeOf(await client.call(deleteTag, { uid: gone }, robot.token)),
          name === "remover" ? Code.NOT_FOUND : Code.PERMISSION_DENIED,
        );
        const { totalCount } = answerOf(await client.call(listTags, { uidp: { childrenOf: repo } }, robot.token));
        assert.equal(totalCount, name === "reader" ? 1n : 0n);
      }
    }
  });
});
