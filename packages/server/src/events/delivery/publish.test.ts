/** Publishes events on both stores: positions, receivers and servers that publish at the same time. Nothing is sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { append, capacityOf, deliveries, ORG, OTHER, outbox, queue, subscribe, TEAM } from "../../../test/harness/events/queue-store.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { until } from "../../../test/harness/wait.ts";
import { lockState } from "../../db/server-state.ts";
import { createLog } from "../../lib/log.ts";
import { startDelivery } from "./delivery.ts";
import { subscriptionsOf } from "./match.ts";
import { publish } from "./publish.ts";
import { createQueues } from "./queues.ts";

const log = createLog("silent");

describeOnStores("publishing of events", (open) => {
  test("an event gets the next position, and a delivery for each subscription of its group and of the groups above", async () => {
    await using store = await open();
    const clock = createManualClock();
    for (const [group, uid] of [
      [ORG, "org"],
      [TEAM, "team"],
      [OTHER, "other"],
    ] as const)
      await subscribe(store, group, uid);
    for (const event of [
      {},
      { group: TEAM },
      { group: `${TEAM}/${"3".repeat(16)}` },
      { audience: "internal" },
      { group: "" },
      { group: "/" },
      { group: `${ORG}0` },
      { audience: "test", subject: "other" },
      { audience: "test", subject: "nobody" },
    ] as const)
      await append(store, event);
    assert.equal(await publish(store, clock, "dev.holt"), "done");
    assert.deepEqual(
      (await outbox(store)).map(({ position }) => position),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    assert.deepEqual(
      (await deliveries(store)).map((row) => `${row.position} ${row.subscription_uid}`),
      ["1 org", "2 org", "2 team", "3 org", "3 team", "8 other"],
    );
    assert.equal((await queue(store, "org")).next_time, clock.now().toISOString());
    await append(store);
    await publish(store, clock, "dev.holt");
    assert.equal((await outbox(store)).at(-1)?.position, 10);
  });

  test("the receivers of an event are computed one event at a time", async () => {
    await using store = await open();
    for (let i = 0; i < 3; i++) await subscribe(store, i < 2 ? ORG : TEAM, `s${i}`);
    const events = Array.from({ length: 3 }, (_, i) => ({
      seq: i,
      id: `${i}`,
      type: "dev.holt.registry.push.v1",
      group_uid: TEAM,
      subject: "s1",
      audience: "customer" as const,
    }));
    const receiversOf = await subscriptionsOf(store.reader, events, "dev.holt");
    for (const event of events) assert.deepEqual(receiversOf(event).toSorted(), ["s0", "s1", "s2"]);
    assert.deepEqual(receiversOf({ seq: 3, id: "3", type: "x", group_uid: TEAM, subject: "s1", audience: "internal" }), []);
  });

  test("servers that publish at the same time give out each position and each delivery once", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 20 }, () => append(store)));
      await Promise.all([
        publish(store, clock, "dev.holt"),
        append(store).then(() => publish(store, clock, "dev.holt")),
        publish(store, clock, "dev.holt"),
      ]);
    }
    await publish(store, clock, "dev.holt");
    const positions = (await outbox(store)).map(({ position }) => position ?? 0).toSorted((a, b) => a - b);
    assert.deepEqual(
      positions,
      Array.from({ length: 105 }, (_, i) => i + 1),
    );
    assert.equal((await deliveries(store)).length, 105);
  });

  test("a server does not wait for another one that publishes, and publishes later what that one left", async () => {
    await using store = await open();
    // SQLite has one server, whose transactions wait for each other.
    if (store.dialect.notify === undefined) return;
    const clock = createManualClock();
    // The pruner deletes old events.
    const time = clock.now().toISOString();
    await append(store, { time });
    assert.equal(await publish(store, clock, "dev.holt"), "done");
    await append(store, { time });
    const locked = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const other = store.transaction(async (db) => {
      await lockState(db, "event_position", {});
      locked.resolve();
      await end.promise;
    });
    await locked.promise;
    const attempt = await publish(store, clock, "dev.holt");
    const webhook = { sign: () => Promise.reject(new Error("nothing is sent")), send: async () => undefined };
    const policy = { backoffMs: [1000], giveUpMs: 1000 };
    await using _delivery = startDelivery({ store, clock, log, webhook, policy, retentionMs: 3_600_000, eventPrefix: "dev.holt" });
    const meanwhile = (await outbox(store)).map(({ position }) => position);
    end.resolve();
    await other;
    assert.equal(attempt, "busy");
    assert.deepEqual(meanwhile, [1, null]);
    await until(async () => (await outbox(store)).every(({ position }) => position !== null));
    assert.deepEqual(
      (await outbox(store)).map(({ position }) => position),
      [1, 2],
    );
  });

  test("an event with more subscriptions than rows per statement reaches all of them", async () => {
    await using store = await open();
    for (let i = 0; i < 600; i++) await subscribe(store, ORG, `s${i}`);
    await append(store);
    await append(store);
    assert.equal(await publish(store, createManualClock(), "dev.holt"), "more", "the second event is for the next transaction");
    assert.equal((await deliveries(store)).length, 600);
  });

  test("a server that stops leaves unpublished events to the next server", async () => {
    await using store = await open();
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 1001; i++) await append(store);
    const webhook = { sign: () => Promise.reject(new Error("nothing is sent")), send: async () => undefined };
    const policy = { backoffMs: [1000], giveUpMs: 1000 };
    const delivery = startDelivery({
      store,
      clock: createManualClock(),
      log,
      webhook,
      policy,
      retentionMs: 3_600_000,
      eventPrefix: "dev.holt",
    });
    await delivery[Symbol.asyncDispose]();
    assert.ok((await outbox(store)).some(({ position }) => position === null));
  });

  test("servers that publish and renew leases do not deadlock", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    // Those of the group above come later, and are before them in the order of uids.
    for (let i = 0; i < 100; i++) {
      await subscribe(store, TEAM, `s${(i * 37) % 100}`);
      await subscribe(store, ORG, `a${(i * 73) % 100}`);
    }
    await append(store, { group: TEAM });
    await publish(store, clock, "dev.holt");
    const held = (await queues.claim(capacityOf(1000, 0))).map(({ uid }) => uid).toReversed();
    let isOver = false;
    const publishing = (async () => {
      for (let i = 0; i < 15; i++) await append(store, { group: TEAM }).then(() => publish(store, clock, "dev.holt"));
      isOver = true;
    })();
    while (!isOver) assert.equal((await queues.lease.renew(held)).size, 200);
    await publishing;
    if (store.dialect.name !== "postgres") return;
    const counted = await sql<{ deadlocks: number }>`select deadlocks from pg_stat_database where datname = current_database()`.execute(
      store.reader,
    );
    assert.deepEqual(counted.rows, [{ deadlocks: 0 }]);
  });
});
