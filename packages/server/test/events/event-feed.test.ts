import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { EventSchema, EventsService, type ListEventsResponse } from "@holt/api/gen/holt/v1/events_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { answerOf, errorOf } from "../harness/clients.ts";
import { expectedEvents, type FeedRequest, readFeed, untilPublished } from "../harness/events/event-feed.ts";
import { fieldsOf } from "../harness/refusal.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { listEvents } = EventsService.method;

const PREFIX = "dev.holt.";
const CREATED = "api.iam.group.created.v1";

describeWithWorld("the event feed", (world) => {
  const ask = (request: FeedRequest, token?: string): Promise<ListEventsResponse> => world.must(listEvents, request, token);
  const refusal = async (request: FeedRequest, token = world.owner.token) => {
    const [rest, grpc] = await Promise.all(
      [world.rest, world.grpc].map(async (client) => errorOf(await client.call(listEvents, request, token))),
    );
    assert.deepEqual(rest, grpc);
    return { code: rest?.code, message: rest?.message, fields: fieldsOf(rest?.details ?? []) };
  };

  it("the feed contains the events of a group and all groups below, oldest first, as subscribers receive them", async () => {
    const group = await world.group(world.orgUid);
    const below = await world.group(group, "below");
    await world.group(world.orgUid, "beside");
    await world.must(GroupsService.method.deleteGroup, { uid: below });
    await untilPublished(world);
    const rows = await expectedEvents(world, group);
    assert.deepEqual(
      rows.map(({ subject, type }) => [subject, type]),
      [
        [group, PREFIX + CREATED],
        [below, PREFIX + CREATED],
        [below, `${PREFIX}api.iam.group.deleted.v1`],
      ],
    );
    for (const client of [world.rest, world.grpc]) {
      const { events, hasMore, cursor } = answerOf(await client.call(listEvents, { parent: group }, world.owner.token));
      assert.deepEqual(
        events.map(({ id }) => id),
        rows.map(({ id }) => id),
      );
      assert.deepEqual([hasMore, cursor !== ""], [false, true]);
      const [first] = events;
      const { time, actor, ...event } = asJson(first as never);
      assert.deepEqual(event, {
        id: rows[0]?.id,
        type: PREFIX + CREATED,
        source: `${world.baseUrl}/iam/v2/groups`,
        subject: group,
        group,
        bodyType: "platform.iam.v2.Group",
        extensions: {},
        body: { uid: group, name: "folder" },
      });
      assert.equal(time, rows[0]?.time);
      assert.equal((actor as JsonObject).subject, world.owner.uid);
    }
  });

  it("a feed request continues from a cursor, even if no events followed it", async () => {
    const group = await world.group(world.orgUid);
    await untilPublished(world);
    const first = await readFeed(world.rest, { parent: group }, world.owner.token);
    assert.equal(first.ids.length, 1);
    const nothing = await ask({ parent: group, cursor: first.cursor });
    assert.deepEqual([nothing.events, nothing.hasMore], [[], false]);
    const made = [await world.group(group, "a"), await world.group(group, "b")];
    await untilPublished(world);
    for (const cursor of [first.cursor, nothing.cursor])
      assert.deepEqual(
        (await ask({ parent: group, cursor })).events.map(({ subject }) => subject),
        made,
      );
    const one = await ask({ parent: group, cursor: nothing.cursor, pageSize: 1 });
    assert.deepEqual([one.events[0]?.subject, one.hasMore], [made[0], true]);
    assert.equal((await ask({ parent: group, cursor: one.cursor })).events[0]?.subject, made[1]);
  });

  it("a page of long events contains fewer of them, and none is skipped", async () => {
    const group = await world.group(world.orgUid);
    const data = JSON.stringify({ body: { content: "x".repeat(375_000) } });
    const texts = { type: "t", source: "s", subject: "", time: world.clock.now().toISOString(), body_type: "", extensions: "{}" };
    for (let i = 0; i < 5; i++) {
      const row = { ...texts, id: randomUUID(), group_uid: group, audience: "customer" as const, data };
      await world.store.transaction((db) => db.insertInto("outbox").values(row).execute());
    }
    await world.group(group);
    await untilPublished(world);
    const { ids, answers } = await readFeed(world.rest, { parent: group, pageSize: 200 }, world.owner.token);
    assert.deepEqual(
      ids,
      (await expectedEvents(world, group)).map(({ id }) => id),
    );
    assert.equal(answers, 3);
  });

  it("the feed does not contain internal events or test events", async () => {
    const group = await world.group(world.orgUid);
    const subscription = { sink: "https://127.0.0.1:1/" };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: group, subscription });
    assert.equal((await world.raw("POST", `/holt/v1/subscriptions/${uid}:test`, {})).status, 200);
    await world.must(IdentitiesService.method.updateIdentityMetadata, { identityMetadata: { company: `c ${Math.random()}` } });
    await untilPublished(world);
    const { events } = await ask({ parent: world.orgUid, since: timestampFromDate(world.clock.now()), pageSize: 200 });
    const audiences = await world.store.reader.selectFrom("outbox").select(["id", "audience"]).orderBy("seq").execute();
    for (const audience of ["internal", "test"]) {
      const hidden = audiences.filter((each) => each.audience === audience).map(({ id }) => id);
      assert.ok(hidden.length > 0, audience);
      assert.ok(!events.some(({ id }) => hidden.includes(id)));
    }
  });

  it("the feed can be filtered by type with or without the prefix of the installation", async () => {
    const group = await world.group(world.orgUid);
    await world.must(GroupsService.method.deleteGroup, { uid: await world.group(group) });
    await untilPublished(world);
    const subjects = async (...types: string[]) =>
      (await ask({ parent: group, types })).events.map(({ type }) => type.slice(PREFIX.length));
    for (const type of [CREATED, PREFIX + CREATED]) assert.deepEqual(await subjects(type), [CREATED, CREATED]);
    assert.deepEqual(await subjects("api.iam.group.deleted.v1", PREFIX + CREATED), [CREATED, CREATED, "api.iam.group.deleted.v1"]);
    for (const type of ["", "group.created.v1", "%", `${CREATED}\0`, `dev.other.${CREATED}`])
      assert.deepEqual(await subjects(type), [], type);
    const list = answerOf(await world.grpc.call(listEvents, { parent: group, types: ["\0"] }, world.owner.token));
    assert.deepEqual(list.events, []);
    for (const pattern of ["api.iam.*", `${PREFIX}api.*`, "api.iam.group.deleted.*"])
      assert.deepEqual(await subjects(CREATED, pattern), [CREATED, CREATED, "api.iam.group.deleted.v1"], pattern);
    assert.deepEqual(await subjects("api.iam.group.deleted.*", "registry.*"), ["api.iam.group.deleted.v1"]);
    assert.deepEqual(await subjects("api.ia.*"), []);
    for (const type of ["*", "api.*.created.v1", "api.iam*"]) {
      const refused = await refusal({ parent: group, types: [CREATED, type] } as FeedRequest);
      assert.deepEqual([refused.code, refused.fields], [Code.INVALID_ARGUMENT, ["types[1]"]], type);
    }
  });

  it("the feed can be filtered by an interval of time", async () => {
    const group = await world.group(world.orgUid);
    const times: Date[] = [];
    for (let i = 0; i < 4; i++) {
      world.clock.advance(180_000);
      times.push(world.clock.now());
      await world.group(group, `g${i}`);
    }
    world.clock.advance(180_000);
    await untilPublished(world);
    const found = async (request: Omit<FeedRequest, "$typeName">) => {
      const { ids } = await readFeed(world.rest, { ...request, parent: group, pageSize: 2 } as FeedRequest, world.owner.token);
      const all = await expectedEvents(world, group);
      return ids.map((id) => all.findIndex((row) => row.id === id) - 1);
    };
    const at = (index: number, ms = 0) => timestampFromDate(new Date((times[index]?.getTime() ?? 0) + ms));
    assert.deepEqual(await found({ since: at(1) }), [1, 2, 3]);
    assert.deepEqual(await found({ since: at(1, 1) }), [2, 3]);
    assert.deepEqual(await found({ until: at(2) }), [-1, 0, 1]);
    assert.deepEqual(await found({ until: at(2, 1) }), [-1, 0, 1, 2]);
    assert.deepEqual(await found({ since: at(1), until: at(3) }), [1, 2]);
    assert.deepEqual(await found({ since: at(3, 1) }), []);
    const between = { ...at(1), nanos: at(1).nanos + 1 };
    assert.deepEqual(await found({ since: between }), [2, 3]);
    assert.deepEqual(await found({ until: between }), [-1, 0, 1]);
  });

  it("a feed request from a future time returns only later events", async () => {
    const group = await world.group(world.orgUid);
    await untilPublished(world);
    world.clock.advance(10 * 60_000);
    const since = timestampFromDate(world.clock.now());
    const { events, cursor } = await ask({ parent: group, since });
    assert.deepEqual(events, []);
    const made = await world.group(group);
    await untilPublished(world);
    assert.deepEqual(
      (await ask({ parent: group, since, cursor })).events.map(({ subject }) => subject),
      [made],
    );
  });

  it("the feed refuses invalid requests", async () => {
    const parent = await world.group(world.orgUid);
    const [early, late] = [timestampFromDate(new Date(1000)), timestampFromDate(new Date(2000))];
    const { cursor } = await ask({ parent });
    const invalid = async (request: FeedRequest, ...fields: string[]) => {
      const refused = await refusal({ parent, ...request } as FeedRequest);
      assert.deepEqual([refused.code, refused.fields], [Code.INVALID_ARGUMENT, fields], JSON.stringify(refused));
    };
    await invalid({ pageSize: -1 }, "page_size");
    await invalid({ since: late, until: early }, "until");
    await invalid({ since: early, until: early }, "until");
    await invalid({ parent: "nonsense" }, "parent");
    for (const forged of ["nonsense", `${cursor}A`, cursor.slice(1)]) await invalid({ cursor: forged }, "cursor");
    await invalid({ cursor, types: ["a"] }, "cursor");
    await invalid({ cursor, since: early }, "cursor");
    await invalid({ cursor, parent: world.orgUid }, "cursor");
    const missing = newUid(world.orgUid);
    assert.deepEqual(await refusal({ parent: missing }), { code: Code.NOT_FOUND, message: `Not found: Group "${missing}"`, fields: [] });
    const other = await world.robot(world.orgUid, [Capability.CAP_EVENTS_SUBSCRIPTION_UPDATE, Capability.CAP_IAM_GROUPS_LIST]);
    assert.equal((await refusal({ parent }, other.token)).code, Code.PERMISSION_DENIED);
    // The page token of another list is not a cursor.
    const { nextPageToken } = JSON.parse((await world.raw("GET", "/iam/v2/groups?page_size=1")).text);
    await invalid({ cursor: nextPageToken }, "cursor");
  });

  it("a feed request scans a limited number of events and tells whether more follow", async () => {
    const group = await world.group(world.orgUid);
    await untilPublished(world);
    const begin = (await ask({ parent: group })).cursor;
    await insertEvents(world, 12_000, world.orgUid);
    const last = await world.group(group, "last");
    await untilPublished(world);
    const first = await ask({ parent: group, cursor: begin });
    assert.deepEqual([first.events, first.hasMore], [[], true]);
    const { ids, answers } = await readFeed(world.rest, { parent: group, cursor: begin }, world.owner.token);
    const wanted = (await expectedEvents(world, group)).find(({ subject }) => subject === last);
    assert.deepEqual([ids, answers], [[wanted?.id], 3]);
    const all = await readFeed(world.grpc, { parent: world.orgUid, pageSize: 200 }, world.owner.token);
    assert.deepEqual(
      all.ids,
      (await expectedEvents(world, world.orgUid)).map(({ id }) => id),
    );
  });
});

/** Inserts this many events of a group. */
async function insertEvents({ store, clock }: World, count: number, group: string): Promise<void> {
  const time = clock.now().toISOString();
  const row = {
    type: "t",
    source: "s",
    subject: group,
    group_uid: group,
    time,
    audience: "customer",
    body_type: "",
    extensions: "{}",
  } as const;
  for (let start = 0; start < count; start += 500) {
    const rows = Array.from({ length: Math.min(500, count - start) }, () => ({ ...row, id: crypto.randomUUID(), data: '{"body":{}}' }));
    await store.transaction((db) => db.insertInto("outbox").values(rows).execute());
  }
}

/** The event with its data parsed. */
function asJson(event: never): JsonObject {
  const { data, ...json } = toJson(EventSchema, event, { alwaysEmitImplicit: true }) as JsonObject;
  const { actor, body } = data as { actor: JsonObject; body: JsonObject };
  return { ...json, actor, body: { uid: body.uid ?? "", name: body.name ?? "" } };
}
