/** Queues in the database, on both stores: positions, receivers, claims, releases, pruning. Nothing is sent. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { sql } from "kysely";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { until } from "../../../test/harness/wait.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import { lockState } from "../../db/server-state.ts";
import type { Store } from "../../db/store.ts";
import { createSlots } from "../../jobs/fair-share.ts";
import { createLog } from "../../lib/log.ts";
import { startDelivery } from "./delivery.ts";
import { readDue, readEvent } from "./due-deliveries.ts";
import { subscriptionsOf } from "./match.ts";
import type { Outcome } from "./outcome.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import { prune, startPruner } from "./prune.ts";
import { publish } from "./publish.ts";
import { createQueues } from "./queues.ts";
import { resumeQueue } from "./redeliver.ts";
import { HEALTHY, type Health } from "./retry.ts";

const log = createLog("silent");
const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

const ORG = "a".repeat(40);
const TEAM = `${ORG}/${"1".repeat(16)}`;
const OTHER = `${ORG}/${"2".repeat(16)}`;

async function openSqlite(): Promise<Store> {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-queue-"));
  folders.push(dataDir);
  return openDatabase({ url: "", dataDir, log });
}

describe("the queue on SQLite", () => suite(openSqlite));
describe("the queue on PostgreSQL", () => suite(async () => openDatabase({ url: await createMigratedDatabase(), dataDir: "", log })));

async function subscribe(store: Store, parent: string, uid: string): Promise<string> {
  const row = { name: "", create_time: "", update_time: "", body: "{}" };
  await store.transaction(async (db) => {
    await db
      .insertInto("group")
      .values({ ...row, uid: parent, parent: null, verified: 0 })
      .onConflict((conflict) => conflict.column("uid").doNothing())
      .execute();
    await db
      .insertInto("subscription")
      .values({ ...row, uid, parent, sink: "https://sink.example.com/" })
      .execute();
    await db.insertInto("subscription_queue").values({ subscription_uid: uid, failures: 0, pause_reason: "" }).execute();
  });
  return uid;
}

interface NewEvent {
  readonly group?: string;
  readonly audience?: "customer" | "internal" | "test";
  readonly subject?: string;
  readonly time?: string;
  readonly data?: string;
}

async function append(
  store: Store,
  { group = ORG, audience = "customer", subject = "", time = "", data = "{}" }: NewEvent = {},
): Promise<string> {
  const id = randomUUID();
  const row = { id, type: "t", source: "s", subject, group_uid: group, time, audience, body_type: "", extensions: "{}", data };
  await store.transaction((db) => db.insertInto("outbox").values(row).execute());
  return id;
}

const deliveries = ({ reader }: Store) =>
  reader.selectFrom("delivery").selectAll().orderBy("position").orderBy("subscription_uid").execute();
const outbox = ({ reader }: Store) => reader.selectFrom("outbox").select(["seq", "id", "position"]).orderBy("seq").execute();
const queue = ({ reader }: Store, uid: string) =>
  reader.selectFrom("subscription_queue").selectAll().where("subscription_uid", "=", uid).executeTakeFirstOrThrow();

const capacityOf = (healthy: number, failing: number) => ({
  healthy: createSlots({ slots: healthy, shareOfOne: 1 / 2 }),
  failing: createSlots({ slots: failing, shareOfOne: 1 / 2 }),
});

function outcome(uid: string, position: number, changes: Partial<Outcome> = {}): Outcome {
  return {
    ...{ subscription_uid: uid, position, state: "delivered", next_attempt_time: null, attempts: 1 },
    ...{ first_attempt_time: "2030", last_attempt_time: "2030", status_code: 200, error: "", latency_ms: 1, exchange: "" },
    ...changes,
  };
}

function suite(open: () => Promise<Store>): void {
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

  test("deliveries are due in the order of their events when the clock goes back a little", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (const ms of [0, -3000, -3_600_000]) {
      clock.advance(ms);
      await append(store);
      await publish(store, clock, "dev.holt");
    }
    const [first, second, third] = (await deliveries(store)).map((row) => row.next_attempt_time ?? "");
    assert.equal(second, first);
    assert.equal(third, clock.now().toISOString(), "a clock that was an hour ahead stops nothing");
  });

  test("a queue is claimed by one server until its lease ends or is released", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    const [a, b] = [createQueues(store, clock), createQueues(store, clock)];
    assert.deepEqual(await a.look(), { isDue: false, isBehind: false, next: null });
    await append(store);
    await publish(store, clock, "dev.holt");
    assert.deepEqual(await a.look(), { isDue: true, isBehind: false, next: null });
    assert.deepEqual(await a.claim(capacityOf(0, 10)), []);
    assert.deepEqual(await a.claim(capacityOf(10, 10)), [{ uid: "org", health: HEALTHY }]);
    assert.deepEqual(await b.claim(capacityOf(10, 10)), []);
    clock.advance(8000);
    assert.deepEqual([...(await a.lease.renew(["org", "more"]))], ["org"]);
    clock.advance(8000);
    assert.deepEqual(await b.claim(capacityOf(10, 10)), []);
    clock.advance(3000);
    assert.equal((await b.claim(capacityOf(10, 10))).length, 1);
    assert.equal((await a.lease.renew(["org"])).size, 0);
    await b.lease.releaseAll();
    assert.equal((await a.claim(capacityOf(10, 10))).length, 1);
    await b.lease.releaseLeftBehind();
    const isAlone = store.dialect.notify === undefined;
    assert.equal(
      (await b.claim(capacityOf(10, 10))).length,
      isAlone ? 1 : 0,
      "a server that was killed and is started again, without other servers",
    );
  });

  test("an organization whose queues have waited longest leaves slots for other organizations", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    const others = "b".repeat(40);
    for (let i = 0; i < 40; i++) await subscribe(store, ORG, `${ORG}/${i}`);
    await append(store);
    await publish(store, clock, "dev.holt");
    clock.advance(1);
    for (let i = 0; i < 3; i++) await subscribe(store, others, `${others}/${i}`);
    await append(store, { group: others });
    await publish(store, clock, "dev.holt");
    const capacity = capacityOf(16, 0);
    const claim = async () =>
      (await queues.claim(capacity, { most: 8, share: { queues: 8, hasUnlimited: true } })).map(({ uid }) => uid.slice(0, 1)).join("");
    assert.equal(await claim(), "aaaaaaaa");
    assert.equal(await claim(), "bbb");
    assert.equal(await claim(), "", "an organization that has as many slots as are free gets no more");
    assert.equal(capacity.healthy.free(), 5);
    for (let i = 0; i < 8; i++) capacity.healthy.giveBack(ORG);
    assert.equal(await claim(), "aaaaaaa");
  });

  test("a claim finds failing queues only if the share says that there are queues without a limit", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    await subscribe(store, ORG, "failing");
    await subscribe(store, ORG, "healthy");
    await append(store);
    await publish(store, clock, "dev.holt");
    await store.transaction((db) =>
      db.updateTable("subscription_queue").set({ failures: 1 }).where("subscription_uid", "=", "failing").execute(),
    );
    const claim = async (hasUnlimited: boolean) =>
      (await queues.claim(capacityOf(2, 2), { most: 8, share: { queues: 8, hasUnlimited } })).map(({ uid }) => uid);
    assert.deepEqual(await claim(false), ["healthy"]);
    assert.deepEqual(await claim(true), ["failing"]);
  });

  test("a server sees that another one is busy with a healthy queue, and not its own or failing ones", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [busy, idle] = [createQueues(store, clock), createQueues(store, clock)];
    const outcomes = createOutcomeLog({ store, clock, log, lease: busy.lease });
    await subscribe(store, ORG, "org");
    await append(store);
    await publish(store, clock, "dev.holt");
    await busy.claim(capacityOf(2, 2));
    assert.equal((await idle.look()).isBehind, false, "the run has just begun");
    clock.advance(1000);
    assert.equal((await idle.look()).isBehind, true);
    assert.equal((await busy.look()).isBehind, false);
    await outcomes.release({ uid: "org", health: { ...HEALTHY, failures: 1 }, recoveredSince: null, notBefore: null });
    await busy.claim(capacityOf(2, 2));
    clock.advance(1000);
    assert.equal((await idle.look()).isBehind, false);
  });

  test("a release sets when the queue is due: at once for due deliveries, not before a hold ends, never while paused", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    const outcomes = createOutcomeLog({ store, clock, log, lease: queues.lease });
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 3; i++) await append(store);
    await publish(store, clock, "dev.holt");
    clock.advance(1000);
    const now = clock.now().toISOString();
    const later = new Date(clock.now().getTime() + 60_000).toISOString();
    const run = async (made: Outcome[], health: Health, recoveredSince: string | null = null) => {
      await queues.claim(capacityOf(1, 1));
      const held = Promise.all(made.map((one) => outcomes.record(one)));
      await outcomes.release({ uid: "org", health, recoveredSince, notBefore: null });
      return held;
    };
    assert.deepEqual(await run([outcome("org", 1)], HEALTHY), [false], "released in the same transaction");
    assert.equal((await queue(store, "org")).next_time, now);
    const failing: Health = { ...HEALTHY, failures: 3, failing_time: now, hold_time: later };
    const retry = { state: "pending", next_attempt_time: later, first_attempt_time: now, status_code: 500, error: "no" } as const;
    await run([outcome("org", 2, retry)], failing);
    assert.equal((await queue(store, "org")).next_time, later, "nothing is sent while it is held");
    await append(store);
    await publish(store, clock, "dev.holt");
    assert.equal((await queue(store, "org")).next_time, later, "also where something new happens");
    clock.advance(60_000);
    await run([outcome("org", 3)], HEALTHY, now);
    assert.deepEqual(
      (await deliveries(store)).map((row) => row.state),
      ["delivered", "pending", "delivered", "pending"],
    );
    await run([outcome("org", 2), outcome("org", 4)], HEALTHY);
    assert.equal((await queue(store, "org")).next_time, null);
    await append(store);
    await publish(store, clock, "dev.holt");
    await run([], { ...HEALTHY, failures: 1, pause_time: now, pause_reason: "gone" });
    assert.deepEqual(await queues.look(), { isDue: false, isBehind: false, next: null });
  });

  test("a recovered sink makes deliveries due that failed during the trouble, not those that failed before", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    const outcomes = createOutcomeLog({ store, clock, log, lease: queues.lease });
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 3; i++) await append(store);
    await publish(store, clock, "dev.holt");
    await queues.claim(capacityOf(1, 1));
    const at = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
    const retry = { state: "pending", next_attempt_time: at(60_000) } as const;
    void outcomes.record(outcome("org", 1, { ...retry, first_attempt_time: at(-9000) }));
    void outcomes.record(outcome("org", 2, { ...retry, first_attempt_time: at(-1000) }));
    void outcomes.record(outcome("org", 3));
    await outcomes.release({ uid: "org", health: HEALTHY, recoveredSince: at(-1000), notBefore: null });
    assert.deepEqual(
      (await deliveries(store)).map((row) => row.next_attempt_time),
      [at(60_000), at(0), null],
    );
  });

  test("no event is lost when a queue is released while events are published", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    const outcomes = createOutcomeLog({ store, clock, log, lease: queues.lease });
    await subscribe(store, ORG, "org");
    for (let round = 1; round <= 25; round++) {
      await append(store);
      const [, [claimed]] = await Promise.all([publish(store, clock, "dev.holt"), queues.claim(capacityOf(1, 1))]);
      const release = { uid: "org", health: claimed?.health ?? HEALTHY, recoveredSince: null, notBefore: null };
      await Promise.all([append(store).then(() => publish(store, clock, "dev.holt")), outcomes.release(release)]);
      await queues.lease.releaseAll();
      assert.notEqual((await queue(store, "org")).next_time, null, `round ${round}`);
      const open = (await deliveries(store)).filter(({ state }) => state === "pending");
      await queues.claim(capacityOf(1, 1));
      for (const { position } of open) void outcomes.record(outcome("org", position));
      await outcomes.release(release);
      assert.equal((await queue(store, "org")).next_time, null);
    }
  });

  test("an outcome is stored after its lease is lost, and never undoes an outcome of another server", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [a, b] = [createQueues(store, clock), createQueues(store, clock)];
    await subscribe(store, ORG, "org");
    await append(store);
    await append(store);
    await publish(store, clock, "dev.holt");
    await a.claim(capacityOf(1, 1));
    clock.advance(11_000);
    await b.claim(capacityOf(1, 1));
    const logs = [a, b].map(({ lease }) => createOutcomeLog({ store, clock, log, lease }));
    assert.equal(await logs[0]?.record(outcome("org", 1)), false);
    assert.equal(await logs[1]?.record(outcome("org", 2)), true);
    await logs[0]?.record(outcome("org", 2, { state: "failed", error: "late" }));
    await logs[0]?.release({ uid: "org", health: { ...HEALTHY, failures: 9 }, recoveredSince: null, notBefore: null });
    assert.deepEqual(
      (await deliveries(store)).map(({ state }) => state),
      ["delivered", "delivered"],
    );
    assert.deepEqual([(await queue(store, "org")).failures, (await queue(store, "org")).lease_holder], [0, b.lease.holder]);
  });

  test("pruning deletes old events with their deliveries, and deliveries of deleted subscriptions", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    await subscribe(store, ORG, "gone");
    const at = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    const ids = [];
    for (const age of [5000, 4000, 500, 3000, 0]) ids.push(await append(store, { time: at(age) }));
    await publish(store, clock, "dev.holt");
    const unpublished = await append(store, { time: at(9000) });
    await store.transaction((db) => db.deleteFrom("subscription").where("uid", "=", "gone").execute());
    await prune({ store, clock, log, retentionMs: 1000 });
    assert.deepEqual(
      (await outbox(store)).map(({ id }) => id),
      [...ids.slice(2), unpublished],
      "an event stays as long as one before it does",
    );
    assert.deepEqual(
      (await deliveries(store)).map((row) => `${row.position} ${row.subscription_uid}`),
      ["3 org", "4 org", "5 org"],
    );
  });

  test("pruning deletes many old events in chunks, and stops when it is told to", async () => {
    await using store = await open();
    const clock = createManualClock();
    for (let i = 0; i < 3; i++) await subscribe(store, ORG, `s${i}`);
    for (let i = 0; i < 450; i++) await append(store, { time: "2020" });
    while ((await publish(store, clock, "dev.holt")) === "more");
    await prune({ store, clock, log, retentionMs: 1000 }, AbortSignal.abort());
    assert.equal((await outbox(store)).length, 450, "stopped before it began");
    await prune({ store, clock, log, retentionMs: 1000 });
    assert.deepEqual([await outbox(store), await deliveries(store)], [[], []]);
  });

  test("pruning goes on after a clock that was far ahead was corrected", async () => {
    await using store = await open();
    const clock = createManualClock();
    await append(store, { time: "2020" });
    await publish(store, clock, "dev.holt");
    const lease = { lease_holder: "gone", lease_time: new Date(clock.now().getTime() + 365 * 86_400_000).toISOString() };
    await store.transaction((db) =>
      db
        .insertInto("server_state")
        .values({ name: "event_pruning", value: "", ...lease })
        .execute(),
    );
    await using _pruner = startPruner({ store, clock, log, retentionMs: 1000 });
    await until(async () => (await outbox(store)).length === 0);
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

  test("long bodies are read one by one, short ones in a batch", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    const long = JSON.stringify({ body: "ü".repeat(9000) });
    const ids = [await append(store), await append(store, { data: long })];
    await publish(store, clock, "dev.holt");
    const due = await readDue(store.reader, "org", undefined, clock.now().toISOString());
    assert.deepEqual(
      due.map(({ id, data }) => ({ id, data })),
      [
        { id: ids[0], data: "{}" },
        { id: ids[1], data: null },
      ],
    );
    assert.deepEqual(await Promise.all(due.map(async (each) => (await readEvent(store.reader, each)).data)), ["{}", long]);
  });

  test("resuming a subscription resets the attempts of its deliveries, also of those that are due", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 3; i++) await append(store);
    await publish(store, clock, "dev.holt");
    const begun = clock.now().toISOString();
    clock.advance(5 * 86_400_000);
    const [now, later] = [clock.now(), new Date(clock.now().getTime() + 60_000).toISOString()];
    const queues = createQueues(store, clock);
    await queues.claim(capacityOf(1, 1));
    const outcomes = createOutcomeLog({ store, clock, log, lease: queues.lease });
    for (const [position, next] of [
      [1, begun],
      [2, later],
    ] as const)
      await outcomes.record(
        outcome("org", position, { state: "pending", next_attempt_time: next, attempts: 9, first_attempt_time: begun }),
      );
    const health = { ...HEALTHY, failures: 9, failing_time: begun, pause_time: begun, pause_reason: "no attempt succeeded" };
    await outcomes.release({ uid: "org", health, recoveredSince: null, notBefore: null });
    await store.transaction((db) => resumeQueue(db, "org", now));
    assert.deepEqual(
      (await deliveries(store)).map((row) => [row.next_attempt_time, row.attempts, row.first_attempt_time]),
      [
        [begun, 0, null],
        [now.toISOString(), 0, null],
        [begun, 0, null],
      ],
    );
  });
}
