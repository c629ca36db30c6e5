import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, type Client, createRestClient, errorOf } from "../harness/clients.ts";
import { expectedEvents, readFeed, untilPublished } from "../harness/events/event-feed.ts";
import { type ServerOptions, startServer } from "../harness/harness.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { giveTime } from "../harness/wait.ts";
import { describeWithWorld, startWorld, type World } from "../harness/world.ts";

const { listEvents } = EventsService.method;

describeWithWorld("a cursor of the event feed", (world) => {
  it("a cursor never expires and works for every caller who may read the feed", async () => {
    const parent = await world.group(world.orgUid);
    const { uid } = await world.robot(world.orgUid, [Capability.CAP_EVENTS_SUBSCRIPTION_LIST]);
    await untilPublished(world);
    const { cursor } = await world.must(listEvents, { parent });
    const made = await world.group(parent);
    await untilPublished(world);
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
    await untilPublished(world);
    const old = (await world.must(listEvents, { parent, pageSize: 1 })).cursor;
    await world.group(parent);
    await untilPublished(world);
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
    await untilPublished(world);
    for (const cursor of [end, fresh, ""])
      assert.deepEqual(
        (await world.must(listEvents, { parent, cursor })).events.map(({ subject }) => subject),
        [made],
      );
  });

  it("a reader ahead of a restored database gets OUT_OF_RANGE", async () => {
    const parent = await world.group(world.orgUid);
    await untilPublished(world);
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
      const part = await readFeed(client, { parent, cursor, pageSize: 1 + (index % 3) * 20 }, world.owner.token);
      seen.push(...part.ids);
      cursor = part.cursor;
      if (last) return seen;
      await giveTime(20);
    }
  };
  const reading = places.map((place, index) => read(place, index));
  await Promise.all(Array.from({ length: 8 }, (_, seed) => write(writers[seed % writers.length] as Client, seed)));
  await untilPublished(world);
  isWriting = false;
  for (const [index, seen] of (await Promise.all(reading)).entries()) {
    const all = (await expectedEvents(world, places[index] as string)).map(({ id }) => id);
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
    const url = await createMigratedDatabase();
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
