/** Events of advisories: their times, their order, and their former table. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type JsonObject, toJsonString } from "@bufbuild/protobuf";
import { Advisories, AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { sql } from "kysely";
import { advisoryBodies } from "../../src/advisories/migrations/016-advisory-bodies.ts";
import { eventTypeOf } from "../../src/advisories/model/event-types.ts";
import { advisoryFromRow } from "../../src/advisories/storage/load.ts";
import { dateFromTimestamp, timestampFromDate } from "../../src/lib/clock.ts";
import { parentOf } from "../../src/lib/uid.ts";
import { base, createAdvisoryRequests, fixed, later } from "../harness/advisories/advisory-requests.ts";
import { answerOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const v1 = Advisories.method;

describeWithWorld("events of advisories", (world: World) => {
  let group: string;
  before(async () => {
    await world.bind(world.owner.uid, await builtInRole(world, "advisories.admin"), world.orgUid);
    group = await world.group(world.orgUid, "advisories");
  });
  const { make, postEvent, get } = createAdvisoryRequests(world, () => group);

  test("an event with a past time is accepted and sorted among the others by its time", async () => {
    const earlier = timestampFromDate(new Date("2024-01-02T03:04:05.678Z"));
    const made = await make({
      ...base,
      events: [
        { type: fixed, issue: "second" },
        { type: fixed, issue: "first", timestamp: earlier },
      ],
    });
    assert.deepEqual(
      made.events.map(({ issue }) => issue),
      ["first", "second"],
    );
    assert.deepEqual(made.events[0]?.timestamp, earlier);
    assertInvalid(await postEvent(made.id, { fixed: { fixedVersion: "1" }, timestamp: "2200-01-01T00:00:00Z" }), "timestamp");
    const between = await world.must(v1.createAdvisoryEvent, {
      parentId: made.id,
      advisoryEvent: { type: fixed, issue: "between", timestamp: timestampFromDate(new Date("2025-01-01")) },
    });
    const { items } = await world.must(v1.listAdvisoryEvents, { parentId: made.id });
    assert.deepEqual(
      items.map(({ issue }) => issue),
      ["first", "between", "second"],
    );
    assert.equal(items[1]?.id, between.id);
  });

  test("events of the same time keep the order in which they were created", async () => {
    const issues = Array.from({ length: 12 }, (_, i) => `${i}`);
    const { id } = await make({ ...base, events: issues.slice(0, 8).map((issue) => ({ type: fixed, issue })) });
    for (const issue of issues.slice(8)) await world.must(v1.createAdvisoryEvent, { parentId: id, advisoryEvent: { type: fixed, issue } });
    assert.deepEqual(
      (await world.must(v1.listAdvisoryEvents, { parentId: id })).items.map(({ issue }) => issue),
      issues,
    );
    assert.deepEqual(
      ((await get(id)).events as JsonObject[]).map(({ issue }) => issue),
      issues,
    );
  });

  test("only version 1 returns an event of the type componentLocationChanged", async () => {
    const { id, events } = await make({
      ...base,
      events: [{ type: { case: "componentLocationChanged", value: { newLocation: "/opt" } } }, { type: fixed }],
    });
    assert.deepEqual(
      ((await get(id)).events as JsonObject[]).map(({ uid }) => uid),
      [events[1]?.id],
    );
    assert.equal((await world.must(v1.listAdvisoryEvents, { parentId: id })).items.length, 2);
  });

  test("migration 016 loses no event of the former event table", async () => {
    const moved = (newLocation: string) => ({ case: "componentLocationChanged", value: { newLocation } }) as const;
    const { id, events } = await make({
      ...base,
      artifactName: "migrated",
      events: [{ type: moved("/b") }, { type: fixed }, { type: moved("/a") }, { type: later }],
    });
    const other = await make({ ...base, artifactName: "migrated, too", events: [{ type: fixed }] });
    const { store } = world;
    const rows = () => store.reader.selectFrom("advisory").selectAll().orderBy("uid").execute();
    const made = await rows();
    const { text, integer } = store.dialect.types;
    await store.transaction(async (db) => {
      await sql.raw("alter table advisory drop column other_events").execute(db);
      await sql
        .raw(`create table advisory_event (uid ${text}, advisory_uid ${text}, create_time ${text}, type ${integer}, body ${text})`)
        .execute(db);
      const all = made.flatMap((row) => advisoryFromRow(row).events);
      for (const event of all.toReversed()) {
        const time = dateFromTimestamp(event.timestamp!).toISOString();
        const [uid, body] = [event.id, toJsonString(AdvisoryEventSchema, event, { alwaysEmitImplicit: true })];
        await sql`insert into advisory_event values (${uid}, ${parentOf(uid)}, ${time}, ${eventTypeOf(event)}, ${body})`.execute(db);
      }
      for (const statement of advisoryBodies.statements(store.dialect)) await sql.raw(statement).execute(db);
    });
    const migrated = await rows();
    assert.deepEqual(migrated.map(advisoryFromRow), made.map(advisoryFromRow));
    assert.deepEqual(
      migrated.filter(({ other_events }) => other_events !== "").map(({ uid }) => uid),
      made.filter(({ other_events }) => other_events !== "").map(({ uid }) => uid),
    );
    assert.deepEqual((await world.must(v1.listAdvisoryEvents, { parentId: id })).items, events);
    assert.deepEqual((await world.must(v1.listAdvisoryEvents, { parentId: other.id })).items, other.events);
  });

  test("the events of an advisory that does not exist are an empty list", async () => {
    const parentId = `${group}/0000000000000000`;
    for (const client of world.clients)
      assert.deepEqual(answerOf(await client.call(v1.listAdvisoryEvents, { parentId }, world.owner.token)).items, []);
  });
});
