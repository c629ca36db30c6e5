import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { EventSchema, EventsService, type ListEventsRequestSchema, type ListEventsResponse } from "@holt/api/gen/holt/v1/events_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { isAtOrBelow, newUid } from "../../src/lib/uid.ts";
import { answerOf, type Client, createRestClient, errorOf } from "../harness/clients.ts";
import { type ServerOptions, startServer } from "../harness/harness.ts";
import { createDatabase } from "../harness/postgres.ts";
import { verifyDelivery } from "../harness/verify-delivery.ts";
import { giveTime, until } from "../harness/wait.ts";
import { describeWithWorld, startWorld, type World } from "../harness/world.ts";

const { listEvents } = EventsService.method;
type Request = MessageInitShape<typeof ListEventsRequestSchema>;

const PREFIX = "dev.holt.";
const CREATED = "api.iam.group.created.v1";

/** Reads the feed until it has no more events. */
async function readAll(client: Client, request: Request, token: string): Promise<{ ids: string[]; cursor: string; answers: number }> {
  const ids: string[] = [];
  for (let answers = 1, { cursor = "" } = request; ; answers++) {
    const answer = answerOf(await client.call(listEvents, { ...request, cursor }, token));
    ids.push(...answer.events.map(({ id }) => id));
    cursor = answer.cursor;
    if (!answer.hasMore) return { ids, cursor, answers };
  }
}

/** The expected events of a group's feed in their order. */
async function expected(
  world: World,
  group: string,
): Promise<{ id: string; position: number; type: string; subject: string; time: string }[]> {
  const query = world.store.reader.selectFrom("outbox").select(["id", "position", "type", "subject", "time", "group_uid"]);
  const rows = await query.where("audience", "=", "customer").where("position", "is not", null).orderBy("position").execute();
  return rows.filter((row) => isAtOrBelow(row.group_uid, group)).map((row) => ({ ...row, position: row.position as number }));
}

async function published({ store }: World): Promise<void> {
  const query = store.reader.selectFrom("outbox").select("seq").where("position", "is", null).limit(1);
  await until(async () => (await query.execute()).length === 0);
}

describeWithWorld("the signed event feed", (world) => {
  const { listSignedEvents } = EventsService.method;

  it("the signed event feed contains the events of the feed as requests with the signature of a subscription of the group", async () => {
    const group = await world.group(world.orgUid);
    await world.must(GroupsService.method.createGroup, { parent: group, group: { name: "described", description: "für uns" } });
    await world.group(group);
    await published(world);
    const plain = await world.must(listEvents, { parent: group });
    const signed = await world.must(listSignedEvents, { parent: group });
    assert.deepEqual(
      signed.events.map(({ headers }) => headers["Ce-Id"]),
      plain.events.map(({ id }) => id),
    );
    assert.ok(signed.events.length > 1);
    for (const { headers, body } of signed.events) {
      const received = { ...EMPTY, headers: lowerCased(headers), body: Buffer.from(body) };
      const event = await verifyDelivery(received, { issuer: world.baseUrl, group });
      assert.equal(event.id, headers["Ce-Id"]);
      const changed = { ...received, body: Buffer.from(`${received.body} `) };
      await assert.rejects(verifyDelivery(changed, { issuer: world.baseUrl, group }));
      await assert.rejects(verifyDelivery(received, { issuer: world.baseUrl, group: world.orgUid }));
    }
  });

  it("the signed event feed needs the right to subscribe, because a signature must not reach callers who cannot get a delivery", async () => {
    const group = await world.group(world.orgUid);
    const { CAP_EVENTS_SUBSCRIPTION_LIST: LIST, CAP_EVENTS_SUBSCRIPTION_CREATE: CREATE } = Capability;
    const codeFor = async (...capabilities: Capability[]) => {
      const { token } = await world.robot(group, capabilities);
      return errorOf(await world.rest.call(listSignedEvents, { parent: group }, token))?.code;
    };
    assert.deepEqual([await codeFor(LIST), await codeFor(CREATE)], [Code.PERMISSION_DENIED, Code.PERMISSION_DENIED]);
    const { token } = await world.robot(group, [LIST, CREATE]);
    await world.must(listSignedEvents, { parent: group }, token);
  });

  it("a page of signed events has at most 50, and a cursor that other lists refuse", async () => {
    const group = await world.group(world.orgUid);
    for (let i = 0; i < 51; i++) await world.group(group);
    await published(world);
    const first = await world.must(listSignedEvents, { parent: group, pageSize: 200 });
    assert.deepEqual([first.events.length, first.hasMore], [50, true]);
    const second = await world.must(listSignedEvents, { parent: group, cursor: first.cursor });
    assert.deepEqual([second.events.length, second.hasMore], [2, false]);
    assert.equal(
      errorOf(await world.rest.call(listEvents, { parent: group, cursor: first.cursor }, world.token))?.code,
      Code.INVALID_ARGUMENT,
    );
  });
});

const EMPTY = { url: "/", method: "POST", rawHeaders: [], concurrent: 1, status: 0 };

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

describeWithWorld("the event feed", (world) => {
  const ask = (request: Request, token?: string): Promise<ListEventsResponse> => world.must(listEvents, request, token);
  const refusal = async (request: Request, token = world.owner.token) => {
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
    await published(world);
    const rows = await expected(world, group);
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
    await published(world);
    const first = await readAll(world.rest, { parent: group }, world.owner.token);
    assert.equal(first.ids.length, 1);
    const nothing = await ask({ parent: group, cursor: first.cursor });
    assert.deepEqual([nothing.events, nothing.hasMore], [[], false]);
    const made = [await world.group(group, "a"), await world.group(group, "b")];
    await published(world);
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
    await published(world);
    const { ids, answers } = await readAll(world.rest, { parent: group, pageSize: 200 }, world.owner.token);
    assert.deepEqual(
      ids,
      (await expected(world, group)).map(({ id }) => id),
    );
    assert.equal(answers, 3);
  });

  it("the feed does not contain internal events or test events", async () => {
    const group = await world.group(world.orgUid);
    const subscription = { sink: "https://127.0.0.1:1/" };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: group, subscription });
    assert.equal((await world.raw("POST", `/holt/v1/subscriptions/${uid}:test`, {})).status, 200);
    await world.must(IdentitiesService.method.updateIdentityMetadata, { identityMetadata: { company: `c ${Math.random()}` } });
    await published(world);
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
    await published(world);
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
      const refused = await refusal({ parent: group, types: [CREATED, type] } as Request);
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
    await published(world);
    const found = async (request: Omit<Request, "$typeName">) => {
      const { ids } = await readAll(world.rest, { ...request, parent: group, pageSize: 2 } as Request, world.owner.token);
      const all = await expected(world, group);
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
    await published(world);
    world.clock.advance(10 * 60_000);
    const since = timestampFromDate(world.clock.now());
    const { events, cursor } = await ask({ parent: group, since });
    assert.deepEqual(events, []);
    const made = await world.group(group);
    await published(world);
    assert.deepEqual(
      (await ask({ parent: group, since, cursor })).events.map(({ subject }) => subject),
      [made],
    );
  });

  it("the feed refuses invalid requests", async () => {
    const parent = await world.group(world.orgUid);
    const [early, late] = [timestampFromDate(new Date(1000)), timestampFromDate(new Date(2000))];
    const { cursor } = await ask({ parent });
    const invalid = async (request: Request, ...fields: string[]) => {
      const refused = await refusal({ parent, ...request } as Request);
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
    await published(world);
    const begin = (await ask({ parent: group })).cursor;
    await insertEvents(world, 12_000, world.orgUid);
    const last = await world.group(group, "last");
    await published(world);
    const first = await ask({ parent: group, cursor: begin });
    assert.deepEqual([first.events, first.hasMore], [[], true]);
    const { ids, answers } = await readAll(world.rest, { parent: group, cursor: begin }, world.owner.token);
    const wanted = (await expected(world, group)).find(({ subject }) => subject === last);
    assert.deepEqual([ids, answers], [[wanted?.id], 3]);
    const all = await readAll(world.grpc, { parent: world.orgUid, pageSize: 200 }, world.owner.token);
    assert.deepEqual(
      all.ids,
      (await expected(world, world.orgUid)).map(({ id }) => id),
    );
  });
});

describeWithWorld("a cursor of the event feed", (world) => {
  it("a cursor never expires and works for every caller who may read the feed", async () => {
    const parent = await world.group(world.orgUid);
    const { uid } = await world.robot(world.orgUid, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    await published(world);
    const { cursor } = await world.must(listEvents, { parent });
    const made = await world.group(parent);
    await published(world);
    world.clock.advance(20 * 24 * 3_600_000);
    const { token } = await world.signIn(uid);
    const { events } = await world.must(listEvents, { parent, cursor }, token);
    assert.deepEqual(
      events.map(({ subject }) => subject),
      [made],
    );
  });
});

describeWithWorld("the event feed of an installation whose events are pruned", (world) => {
  it("only a reader who missed pruned events gets OUT_OF_RANGE", async () => {
    const parent = await world.group(world.orgUid);
    await published(world);
    const old = (await world.must(listEvents, { parent, pageSize: 1 })).cursor;
    await world.group(parent);
    await published(world);
    const end = (await world.must(listEvents, { parent })).cursor;
    await world.store.transaction((db) => db.deleteFrom("outbox").execute());
    for (const client of [world.rest, world.grpc]) {
      const { code, message } = errorOf(await client.call(listEvents, { parent, cursor: old }, world.owner.token));
      assert.equal(code, Code.OUT_OF_RANGE);
      assert.match(message, /^Out of range: .*start again without a cursor.*since/);
    }
    // A reader at the end has missed nothing, and a new reader starts with the existing events.
    const fresh = (await world.must(listEvents, { parent })).cursor;
    const made = await world.group(parent);
    await published(world);
    for (const cursor of [end, fresh, ""])
      assert.deepEqual(
        (await world.must(listEvents, { parent, cursor })).events.map(({ subject }) => subject),
        [made],
      );
  });

  it("a reader ahead of a restored database gets OUT_OF_RANGE", async () => {
    const parent = await world.group(world.orgUid);
    await published(world);
    const { cursor } = await world.must(listEvents, { parent });
    await world.store.transaction(async (db) => {
      const row = await db.selectFrom("server_state").select("value").where("name", "=", "event_position").executeTakeFirstOrThrow();
      const state = JSON.parse(row.value) as { position: number };
      const value = JSON.stringify({ ...state, position: state.position - 1 });
      await db.deleteFrom("outbox").where("position", "=", state.position).execute();
      await db.updateTable("server_state").set({ value }).where("name", "=", "event_position").execute();
    });
    assert.equal(errorOf(await world.rest.call(listEvents, { parent, cursor }, world.owner.token)).code, Code.OUT_OF_RANGE);
  });
});

/** One reader follows each group while several clients write. */
async function follow(world: World, writers: readonly Client[], readers: readonly Client[]): Promise<void> {
  const groups = [await world.group(world.orgUid, "a"), await world.group(world.orgUid, "b")];
  const rooms = await Promise.all(groups.map((group) => world.group(group, "room")));
  const places = [world.orgUid, ...groups, ...rooms];
  let isWriting = true;
  const write = async (client: Client, seed: number) => {
    for (let i = 0; i < 30; i++) {
      const parent = places[(i * 7 + seed) % places.length] as string;
      const { uid } = answerOf(await client.call(GroupsService.method.createGroup, { parent, group: { name: "x" } }, world.owner.token));
      if (i % 3 === 0) answerOf(await client.call(GroupsService.method.deleteGroup, { uid }, world.owner.token));
    }
  };
  const read = async (parent: string, index: number) => {
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const last = !isWriting;
      const client = readers[(index + seen.length) % readers.length] as Client;
      const part = await readAll(client, { parent, cursor, pageSize: 1 + (index % 3) * 20 }, world.owner.token);
      seen.push(...part.ids);
      cursor = part.cursor;
      if (last) return seen;
      await giveTime(20);
    }
  };
  const reading = places.map((place, index) => read(place, index));
  await Promise.all(Array.from({ length: 8 }, (_, seed) => write(writers[seed % writers.length] as Client, seed)));
  await published(world);
  isWriting = false;
  for (const [index, seen] of (await Promise.all(reading)).entries()) {
    const all = (await expected(world, places[index] as string)).map(({ id }) => id);
    assert.equal(new Set(seen).size, seen.length, "an event appeared twice");
    assert.deepEqual(seen, all);
  }
}

describe("a reader of the feed who follows its cursor", () => {
  for (const store of ["sqlite", "postgres"] as const) {
    it(`a reader sees each event once and in order while others write on ${store}`, async () => {
      await using world = await startWorld({ store });
      await follow(world, [world.rest, world.grpc], [world.rest, world.grpc]);
    });
  }

  it("a reader sees each event once and in order while several servers write", async () => {
    const url = await createDatabase();
    await using world = await startWorld({ env: { HOLT_DATABASE_URL: url } });
    const options: ServerOptions = {
      clock: world.clock,
      env: { HOLT_DATABASE_URL: url, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl },
    };
    await using other = await startServer(options);
    await using third = await startServer(options);
    await using a = createRestClient(`http://127.0.0.1:${other.port}`);
    await using b = createRestClient(`http://127.0.0.1:${third.port}`);
    await follow(world, [world.rest, a, b], [world.rest, a, b]);
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

function fieldsOf(details: readonly JsonObject[]): string[] {
  return details.flatMap(({ fieldViolations = [] }) => (fieldViolations as { field: string }[]).map(({ field }) => field));
}
