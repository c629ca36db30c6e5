/** Tests pushes by digest that name tags in their query, which the distribution specification has after 1.1. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { eventData } from "../../src/outbox/event-context.ts";
import { createRegistryClient, digestOf, INDEX, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("pushes with tags", (world) => {
  let client: RegistryClient;
  before(() => {
    client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
  });
  after(() => client[Symbol.dispose]());

  const contentOf = (note: string) => JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [], annotations: { note } });
  const push = (reference: string, content: string, query: string) =>
    client.send("PUT", `my-org/tags/manifests/${reference}${query}`, { headers: { "content-type": INDEX }, body: content });

  for (const algorithm of ["sha256", "sha512"] as const)
    test(`a push by ${algorithm} digest sets all tags of its query, and each tag is pulled under that digest`, async () => {
      const content = contentOf(algorithm);
      const digest = digestOf(content, algorithm);
      const tags = ["1.2.3", "1.2", "1", "latest"].map((tag) => `${algorithm}-of-${tag}`);
      const { status, headers } = await push(digest, content, `?${tags.map((tag) => `tag=${tag}`).join("&")}&tag=${tags[0]}`);
      assert.equal(status, 201);
      assert.deepEqual(headers["oci-tag"]?.toString().split(/, */), tags);
      assert.equal(headers["docker-content-digest"], digest);
      for (const tag of tags) {
        const pulled = await client.send("GET", `my-org/tags/manifests/${tag}`);
        assert.deepEqual([pulled.status, pulled.headers["docker-content-digest"], pulled.body.toString()], [200, digest, content]);
      }
      const { tags: stored } = await world.must(TagsService.method.listTags, { digest, includeReferrers: true });
      assert.deepEqual(stored.map(({ name }) => name).sort(), tags.toSorted());
    });

  test("a push with tags emits a push event for each tag", async () => {
    const content = contentOf("events");
    await push(digestOf(content), content, "?tag=event-a&tag=event-b");
    const rows = await world.store.reader
      .selectFrom("outbox")
      .select(eventData().as("data"))
      .where("type", "like", "%registry.push.v1")
      .orderBy("seq")
      .execute();
    const bodies = rows.map(({ data }) => JSON.parse(data).body as { digest: string; tag?: string });
    assert.deepEqual(
      bodies.filter(({ digest }) => digest === digestOf(content)).map(({ tag }) => tag),
      ["event-a", "event-b"],
    );
  });

  test("a push with an invalid tag or with too many tags stores nothing", async () => {
    const content = contentOf("refused");
    const many = Array.from({ length: 101 }, (_, at) => `tag=many-${at}`).join("&");
    for (const [query, status] of [
      ["?tag=fine&tag=not%2Ffine", 400],
      ["?tag=", 400],
      ["?tag=a,b", 400],
      [`?${many}`, 414],
    ] as const) {
      const answer = await push(digestOf(content), content, query);
      assert.deepEqual([answer.status, answer.headers["oci-tag"]], [status, undefined], query);
    }
    assert.equal((await client.send("GET", `my-org/tags/manifests/${digestOf(content)}`)).status, 404);
    assert.equal((await push(digestOf(content), content, `?${many.replace("tag=many-100", "x")}`)).status, 201);
  });

  test("a push without tags in its query has no OCI-Tag header", async () => {
    const content = contentOf("plain");
    for (const reference of [digestOf(content), "plain"]) {
      const { status, headers } = await push(reference, content, "");
      assert.deepEqual([status, headers["oci-tag"]], [201, undefined]);
    }
  });
});
