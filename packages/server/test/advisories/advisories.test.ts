/** Tests of advisories beyond the conformance suites: writing with version 1, reading with version 2, limits and rights. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";
import { type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { Advisories, type Advisory, AdvisorySchema, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService, AdvisorySchema as AdvisorySchemaV2 } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { MAX_PEOPLE } from "../../src/advisories/model/people.ts";
import { timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { base, createAdvisoryRequests, fixed, full, later } from "../harness/advisories/advisory-requests.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { assertInvalid, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const v1 = Advisories.method;
const v2 = AdvisoriesService.method;

describeWithWorld("advisories", (world: World) => {
  let group: string;
  before(async () => {
    await world.bind(world.owner.uid, await builtInRole(world, "advisories.admin"), world.orgUid);
    group = await world.group(world.orgUid, "advisories");
  });
  const { make, post, put, postEvent, get } = createAdvisoryRequests(world, () => group);

  test("a written advisory reads back in both versions, over REST and gRPC, with its lists in order", async () => {
    for (const client of [world.rest, world.grpc]) {
      const made: Advisory = answerOf(
        await client.call(v1.create, { parentId: group, advisory: { ...full, events: [{ type: fixed }, { type: later }] } }, world.token),
      );
      const now = timestampFromDate(world.clock.now());
      assert.match(made.advisoryId, /^HOLT(-[23456789cfghjmpqrvwx]{4}){3}$/);
      assert.deepEqual(made.aliases, full.aliases);
      assert.deepEqual([made.createdAt, made.updatedAt, made.deletedAt], [now, now, undefined]);
      assert.deepEqual(
        made.events.map(({ author, reviewer, status, type }) => [
          author,
          reviewer,
          status,
          type.case === "fixed" && type.value.fixedVersion,
        ]),
        [
          [world.owner.uid, "", ReviewStatus.PENDING, "1.2-r0"],
          [world.owner.uid, "", ReviewStatus.PENDING, "2"],
        ],
      );
      const { items } = answerOf(await client.call(v1.list, { id: made.id }, world.token));
      assert.deepEqual(
        items.map((item) => toJson(AdvisorySchema, item)),
        [toJson(AdvisorySchema, made)],
      );
      const got = answerOf(await client.call(v2.getAdvisory, { uid: made.id }, world.token));
      const shown = toJson(AdvisorySchemaV2, got) as JsonObject;
      assert.deepEqual(
        [shown.uid, shown.advisoryId, shown.author, shown.componentLocation, shown.legacyAdvisoryId, shown.aliases],
        [made.id, made.advisoryId, full.author, "/usr/bin/é", "OLD-1", full.aliases],
      );
      assert.deepEqual(
        (shown.events as JsonObject[]).map(({ uid, reviewState }) => [uid, reviewState]),
        made.events.map(({ id }) => [id, "REVIEW_STATE_PENDING"]),
      );
    }
  });

  test("version 2 returns the whole advisory, and Get and List return the same bytes", async () => {
    const { id } = await make({ ...base, artifactName: "whole" });
    const { text } = await world.raw("GET", `/vulnerabilities/v2/advisories/${id}`);
    const list = await world.raw("GET", "/vulnerabilities/v2/advisories?artifactNames=whole");
    assert.equal(list.text, `{"advisories":[${text}],"totalCount":"1","skipped":0}`);
    assert.deepEqual(Object.keys(JSON.parse(text)), [
      "uid",
      "advisoryId",
      "createTime",
      "updateTime",
      "author",
      "artifactName",
      "artifactType",
      "artifactArchitecture",
      "componentName",
      "componentLocation",
      "componentType",
      "aliases",
      "events",
      "severities",
    ]);
  });

  test("the server ignores ids and times of the client, but accepts an advisory id", async () => {
    const made = await make({
      ...base,
      id: "x",
      advisoryId: "CGA-aaaa-bbbb-cccc",
      createdAt: timestampFromDate(new Date(0)),
      deletedAt: timestampFromDate(new Date(0)),
    });
    assert.ok(made.id.startsWith(`${group}/`));
    assert.equal(made.advisoryId, "CGA-aaaa-bbbb-cccc");
    assert.deepEqual([made.createdAt, made.deletedAt], [timestampFromDate(world.clock.now()), undefined]);
  });

  test("an advisory without a component has the same fields in every answer of version 1", async () => {
    for (const client of world.clients) {
      const ask = <M extends (typeof v1)["create" | "update"]>(method: M, request: MessageInitShape<M["input"]>) =>
        client.call(method, request, world.owner.token).then(answerOf);
      const about = { artifactType: "apk", artifactName: `plain-${client.protocol}`, componentName: "" };
      const made = await ask(v1.create, { parentId: group, advisory: about });
      const same = await ask(v1.update, made);
      const { items } = answerOf(await client.call(v1.list, { id: made.id }, world.owner.token));
      assert.deepEqual([same, items[0]], [made, made]);
      assert.equal(made.componentName, undefined);
    }
  });

  test("a missing or too large field is refused with its name", async () => {
    assertInvalid(await post({}), "artifact_type", "artifact_name");
    assertInvalid(await post({ ...base, aliases: ["", "x".repeat(129), "a\nb"] }), "aliases[0]", "aliases[1]", "aliases[2]");
    assertInvalid(await post({ ...base, aliases: Array.from({ length: 101 }, (_, i) => `CVE-${i}`) }), "aliases");
    assertInvalid(
      await post({ ...base, artifactName: "é".repeat(128), componentLocation: "x".repeat(513), author: "a\u0000" }),
      "artifact_name",
      "component_location",
      "author",
    );
    assertInvalid(
      await post({ ...base, events: [{}, { fixed: {} }, { falsePositiveDetermination: {} }, { patched: {} }] }),
      "events[0].type",
      "events[1].fixed.fixed_version",
      "events[2].false_positive_determination.type",
      "events[3].patched.patched_versions",
    );
    assertInvalid(
      await post({ ...base, events: [{ fixed: { fixedVersion: "1", note: "x".repeat(16 * 1024 + 1) } }] }),
      "events[0].fixed.note",
    );
    assertInvalid(await post({ ...base, events: [{ fixed: { fixedVersion: "1" }, findings: "A".repeat(88_000) }] }), "events[0].findings");
    assertInvalid(await post({ ...base, events: [{ fixed: { fixedVersion: "1" }, status: 9 }] }), "events[0].status");
    assertInvalid(await post({ ...base, events: Array.from({ length: 501 }, () => ({ fixed: { fixedVersion: "1" } })) }), "events");
    assertInvalid(
      await post({ ...base, events: Array.from({ length: 101 }, (_, i) => ({ fixed: { fixedVersion: "1" }, author: `a${i}` })) }),
      "events",
    );
    const heavy = await post({
      ...base,
      events: Array.from({ length: 5 }, () => ({ fixed: { fixedVersion: "1" }, findings: "A".repeat(64_000) })),
    });
    assert.match(assertRefused(heavy, Code.INVALID_ARGUMENT).message, /at most 256 KiB/);
    const { id } = await make();
    assertInvalid(await put(id, { artifactType: "apk" }), "artifact_name");
    assertInvalid(await postEvent(id, {}), "type");
    assertInvalid(await post(base, "nonsense"), "parent_id");
    assert.equal(codeOf(await world.grpc.call(v1.create, { parentId: "f".repeat(40), advisory: base }, world.token)), Code.NOT_FOUND);
    assertRefused(await post(base, `${world.orgUid}/0000000000000000`), Code.NOT_FOUND);
    for (const answer of [
      await put(`${group}/0000000000000000`, base),
      await postEvent(`${group}/0000000000000000`, { fixed: { fixedVersion: "1" } }),
    ])
      assert.equal(assertRefused(answer, Code.NOT_FOUND).details[1]?.resourceType, "vulnerabilities.holt.dev/Advisory");
    assertRefused(await world.raw("DELETE", `/vulnerabilities/v1/advisories/${group}/0000000000000000`), Code.NOT_FOUND);
    assertInvalid(await world.raw("GET", "/vulnerabilities/v1/advisories?order_by=77"), "order_by");
    assertInvalid(await world.raw("GET", "/vulnerabilities/v1/advisories?page_size=-1"), "page_size");
  });

  test("an advisory of the maximum size is stored, found and returned", async () => {
    // Random data, since repetitive data would be compressed and take less space in an index.
    const textOf = (length: number) => randomBytes(length).toString("hex").slice(0, length);
    const long = {
      artifactType: textOf(64),
      artifactName: textOf(255),
      artifactArchitecture: textOf(64),
      componentName: textOf(255),
      componentType: textOf(64),
      componentLocation: textOf(512),
      aliases: Array.from({ length: 100 }, () => textOf(128)),
    };
    const people = Array.from({ length: MAX_PEOPLE }, () => textOf(40));
    const events = Array.from({ length: 500 }, (_, i) => ({
      type: fixed,
      author: people[i % MAX_PEOPLE]!,
      reviewer: people[i % MAX_PEOPLE]!,
    }));
    const { id } = await make({ ...long, advisoryId: textOf(128), events });
    assert.equal(((await get(id)).events as unknown[]).length, 500);
    for (const query of [
      `artifactNames=${long.artifactName}`,
      `query=${long.artifactName.slice(100, 200).toUpperCase()}`,
      `eventAuthors=${people.at(-1)}`,
      `eventReviewers=${people.at(-1)}`,
      `aliases=${long.aliases[99]}`,
    ])
      assert.equal(JSON.parse((await world.raw("GET", `/vulnerabilities/v2/advisories?${query}`)).text).totalCount, "1", query);
    assertInvalid(await postEvent(id, { fixed: { fixedVersion: "1" }, author: people[0] }), "events");
  });

  test("an advisory has the severities of the records that its aliases name, without duplicates, and follows their changes", async () => {
    const score = (vector: string) => ({ type: "TYPE_CVSS_V3", score: vector });
    const record = (id: string, severities: object[]) => ({
      id,
      update_time: "",
      modified_time: "",
      severities: JSON.stringify(severities),
      body: "{}",
    });
    await world.store.transaction(async (db) => {
      await db
        .insertInto("vulnerability")
        .values([record("CVE-9-1", [score("a"), score("b")]), record("GHSA-9-2", [score("b"), score("c")]), record("CVE-9-3", [])])
        .execute();
    });
    const several = await make({ ...base, artifactName: "severe", aliases: ["GHSA-9-2", "CVE-9-1", "CVE-9-3", "CVE-9-4"] });
    const one = await make({ ...base, artifactName: "severe", aliases: ["GHSA-9-2"] });
    const none = await make({ ...base, artifactName: "severe", aliases: ["CVE-9-3"] });
    const expected = new Map([
      [several.id, ["a", "b", "c"]],
      [one.id, ["b", "c"]],
      [none.id, []],
    ]);
    const { advisories } = JSON.parse((await world.raw("GET", "/vulnerabilities/v2/advisories?artifactNames=severe")).text);
    assert.deepEqual(
      new Map(advisories.map((advisory: JsonObject) => [advisory.uid, advisory.severities])),
      new Map([...expected].map(([uid, vectors]) => [uid, vectors.map(score)]).sort() as never),
    );
    assert.deepEqual((await get(one.id)).severities, ["b", "c"].map(score));
    await world.store.transaction((db) =>
      db
        .updateTable("vulnerability")
        .set({ severities: JSON.stringify([score("d")]) })
        .where("id", "=", "GHSA-9-2")
        .execute(),
    );
    assert.deepEqual((await get(one.id)).severities, [score("d")]);
  });

  test("a caller without rights at a group cannot read, write or count its advisories", async () => {
    const [mine, theirs] = [await world.group(world.orgUid, "mine"), await world.group(world.orgUid, "theirs")];
    await make({ ...base, artifactName: "private" }, mine);
    const reader = await world.robot(theirs);
    await world.bind(reader.uid, await builtInRole(world, "advisories.admin"), theirs);
    for (const query of ["", "artifactNames=private", "artifactTypes=apk", "query=private", "eventAuthors=nobody"]) {
      const { advisories, totalCount } = JSON.parse(
        (await world.raw("GET", `/vulnerabilities/v2/advisories?${query}`, undefined, reader.token)).text,
      );
      assert.deepEqual([advisories, totalCount], [[], "0"], query);
    }
    assert.deepEqual((await world.must(v1.list, {}, reader.token)).items, []);
    assert.equal(codeOf(await world.rest.call(v1.create, { parentId: mine, advisory: base }, reader.token)), Code.PERMISSION_DENIED);
  });
});

describeWithWorld(
  "advisories with a vendor profile",
  (world: World) => {
    test("advisory ids begin with the vendor profile's prefix", async () => {
      await world.bind(world.owner.uid, await builtInRole(world, "advisories.admin"), world.orgUid);
      const { advisoryId } = await world.must(v1.create, { parentId: world.orgUid, advisory: base });
      assert.match(advisoryId, /^CGA(-[23456789cfghjmpqrvwx]{4}){3}$/);
    });
  },
  { env: { HOLT_VENDOR_PROFILE: "chainguard" } },
);
