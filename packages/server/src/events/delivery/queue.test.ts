/** The queue in the database, on both stores: positions, who hears of what, claims, releases, pruning. Nothing is sent here. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createDatabase } from "../../../test/harness/postgres.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import type { Store } from "../../db/store.ts";
import { createLog } from "../../lib/log.ts";
import { startDelivery } from "./delivery.ts";
import { readDue, readEvent } from "./due-deliveries.ts";
import { createLeases } from "./leases.ts";
import { createLedger, type Outcome } from "./ledger.ts";
import { subscriptionsOf } from "./match.ts";
import { prune, startPruner } from "./prune.ts";
import { publish } from "./publish.ts";
import { resumeQueue } from "./redeliver.ts";
import { HEALTHY, type Health } from "./retry.ts";
import { createShares } from "./shares.ts";

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
describe("the queue on PostgreSQL", () => suite(async () => openDatabase({ url: await createDatabase(), dataDir: "", log })));

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

interface Told {
  readonly group?: string;
  readonly audience?: "customer" | "internal" | "test";
  readonly subject?: string;
  readonly time?: string;
  readonly data?: string;
}

async function append(
  store: Store,
  { group = ORG, audience = "customer", subject = "", time = "", data = "{}" }: Told = {},
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

const roomFor = (healthy: number, failing: number) => ({ healthy: createShares(healthy), failing: createShares(failing) });

function outcome(uid: string, position: number, changes: Partial<Outcome> = {}): Outcome {
  return {
    ...{ subscription_uid: uid, position, state: "delivered", next_attempt_time: null, attempts: 1 },
    ...{ first_attempt_time: "2030", last_attempt_time: "2030", status_code: 200, error: "", latency_ms: 1 },
    ...changes,
  };
}

function suite(open: () => Promise<Store>): void {
  test("an event has the position after the last one, and deliveries where its group or one above is subscribed to", async () => {
    await using store = await open();
    const clock = createManualClock();
    for (const [group, uid] of [
      [ORG, "org"],
      [TEAM, "team"],
      [OTHER, "other"],
    ] as const)
      await subscribe(store, group, uid);
    for (const told of [
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
      await append(store, told);
    assert.equal(await publish(store, clock), false);
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
    await publish(store, clock);
    assert.equal((await outbox(store)).at(-1)?.position, 10);
  });

  test("who hears of an event is worked out when it is asked, not for all that wait", async () => {
    await using store = await open();
    for (let i = 0; i < 3; i++) await subscribe(store, i < 2 ? ORG : TEAM, `s${i}`);
    const events = Array.from({ length: 3 }, (_, i) => ({
      seq: i,
      id: `${i}`,
      group_uid: TEAM,
      subject: "s1",
      audience: "customer" as const,
    }));
    const hearersOf = await subscriptionsOf(store.reader, events);
    for (const event of events) assert.deepEqual(hearersOf(event).toSorted(), ["s0", "s1", "s2"]);
    assert.deepEqual(hearersOf({ seq: 3, id: "3", group_uid: TEAM, subject: "s1", audience: "internal" }), []);
  });

  test("servers that publish at once give out each position once, and each delivery", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 20 }, () => append(store)));
      await Promise.all([publish(store, clock), append(store).then(() => publish(store, clock)), publish(store, clock)]);
    }
    await publish(store, clock);
    const positions = (await outbox(store)).map(({ position }) => position ?? 0).toSorted((a, b) => a - b);
    assert.deepEqual(
      positions,
      Array.from({ length: 105 }, (_, i) => i + 1),
    );
    assert.equal((await deliveries(store)).length, 105);
  });

  test("more subscriptions than fit into a statement all get it", async () => {
    await using store = await open();
    for (let i = 0; i < 600; i++) await subscribe(store, ORG, `s${i}`);
    await append(store);
    await append(store);
    assert.equal(await publish(store, createManualClock()), true, "the second event is for the next transaction");
    assert.equal((await deliveries(store)).length, 600);
  });

  test("deliveries are due in the order of their events, also where the clock goes back a little", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (const ms of [0, -3000, -3_600_000]) {
      clock.advance(ms);
      await append(store);
      await publish(store, clock);
    }
    const [first, second, third] = (await deliveries(store)).map((row) => row.next_attempt_time ?? "");
    assert.equal(second, first);
    assert.equal(third, clock.now().toISOString(), "a clock that was an hour ahead stops nothing");
  });

  test("a queue is claimed by one, until its lease ends or it is released", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    const [a, b] = [createLeases(store, clock), createLeases(store, clock)];
    assert.deepEqual(await a.look(), { isDue: false, next: null });
    await append(store);
    await publish(store, clock);
    assert.deepEqual(await a.look(), { isDue: true, next: null });
    assert.deepEqual(await a.claim(roomFor(0, 10)), []);
    assert.deepEqual(await a.claim(roomFor(10, 10)), [{ uid: "org", health: HEALTHY }]);
    assert.deepEqual(await b.claim(roomFor(10, 10)), []);
    clock.advance(8000);
    assert.deepEqual([...(await a.renew(["org", "more"]))], ["org"]);
    clock.advance(8000);
    assert.deepEqual(await b.claim(roomFor(10, 10)), []);
    clock.advance(3000);
    assert.equal((await b.claim(roomFor(10, 10))).length, 1);
    assert.equal((await a.renew(["org"])).size, 0);
    await b.releaseAll();
    assert.equal((await a.claim(roomFor(10, 10))).length, 1);
    await b.releaseForeign();
    assert.equal((await b.claim(roomFor(10, 10))).length, 1, "for a database with one server, which was killed and is back");
  });

  test("an organization whose queues have waited longest leaves room for those of others, and has all its own where it is alone", async () => {
    await using store = await open();
    const clock = createManualClock();
    const leases = createLeases(store, clock);
    const others = "b".repeat(40);
    for (let i = 0; i < 40; i++) await subscribe(store, ORG, `${ORG}/${i}`);
    await append(store);
    await publish(store, clock);
    clock.advance(1);
    for (let i = 0; i < 3; i++) await subscribe(store, others, `${others}/${i}`);
    await append(store, { group: others });
    await publish(store, clock);
    const room = roomFor(16, 0);
    const claim = async () => (await leases.claim(room, 8)).map(({ uid }) => uid.slice(0, 1)).join("");
    assert.equal(await claim(), "aaaaaaaa");
    assert.equal(await claim(), "bbb");
    assert.equal(await claim(), "", "who has more than is free has no more");
    assert.equal(room.healthy.free(), 5);
    for (let i = 0; i < 8; i++) room.healthy.giveBack(ORG);
    assert.equal(await claim(), "aaaaaaa");
  });

  test("a release says when there is more to send: never early, never in a pause, and at once for the rest of what is due", async () => {
    await using store = await open();
    const clock = createManualClock();
    const leases = createLeases(store, clock);
    const ledger = createLedger({ store, clock, log, holder: leases.holder });
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 3; i++) await append(store);
    await publish(store, clock);
    clock.advance(1000);
    const now = clock.now().toISOString();
    const later = new Date(clock.now().getTime() + 60_000).toISOString();
    const turn = async (outcomes: Outcome[], health: Health, recoveredSince: string | null = null) => {
      await leases.claim(roomFor(1, 1));
      const held = Promise.all(outcomes.map((one) => ledger.record(one)));
      await ledger.release({ uid: "org", health, recoveredSince, notBefore: null });
      return held;
    };
    assert.deepEqual(await turn([outcome("org", 1)], HEALTHY), [false], "released in the same transaction");
    assert.equal((await queue(store, "org")).next_time, now);
    const failing: Health = { ...HEALTHY, failures: 3, failing_time: now, hold_time: later };
    const retry = { state: "pending", next_attempt_time: later, first_attempt_time: now, status_code: 500, error: "no" } as const;
    await turn([outcome("org", 2, retry)], failing);
    assert.equal((await queue(store, "org")).next_time, later, "nothing is sent while it is held");
    await append(store);
    await publish(store, clock);
    assert.equal((await queue(store, "org")).next_time, later, "also where something new happens");
    clock.advance(60_000);
    await turn([outcome("org", 3)], HEALTHY, now);
    assert.deepEqual(
      (await deliveries(store)).map((row) => row.state),
      ["delivered", "pending", "delivered", "pending"],
    );
    await turn([outcome("org", 2), outcome("org", 4)], HEALTHY);
    assert.equal((await queue(store, "org")).next_time, null);
    await append(store);
    await publish(store, clock);
    await turn([], { ...HEALTHY, failures: 1, pause_time: now, pause_reason: "gone" });
    assert.deepEqual(await leases.look(), { isDue: false, next: null });
  });

  test("what a sink in trouble did not take is due when it is well; what had failed before keeps its time", async () => {
    await using store = await open();
    const clock = createManualClock();
    const leases = createLeases(store, clock);
    const ledger = createLedger({ store, clock, log, holder: leases.holder });
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 3; i++) await append(store);
    await publish(store, clock);
    await leases.claim(roomFor(1, 1));
    const at = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
    const retry = { state: "pending", next_attempt_time: at(60_000) } as const;
    void ledger.record(outcome("org", 1, { ...retry, first_attempt_time: at(-9000) }));
    void ledger.record(outcome("org", 2, { ...retry, first_attempt_time: at(-1000) }));
    void ledger.record(outcome("org", 3));
    await ledger.release({ uid: "org", health: HEALTHY, recoveredSince: at(-1000), notBefore: null });
    assert.deepEqual(
      (await deliveries(store)).map((row) => row.next_attempt_time),
      [at(60_000), at(0), null],
    );
  });

  test("no event is forgotten between one who publishes and one who releases", async () => {
    await using store = await open();
    const clock = createManualClock();
    const leases = createLeases(store, clock);
    const ledger = createLedger({ store, clock, log, holder: leases.holder });
    await subscribe(store, ORG, "org");
    for (let round = 1; round <= 25; round++) {
      await append(store);
      const [, [claimed]] = await Promise.all([publish(store, clock), leases.claim(roomFor(1, 1))]);
      const release = { uid: "org", health: claimed?.health ?? HEALTHY, recoveredSince: null, notBefore: null };
      await Promise.all([append(store).then(() => publish(store, clock)), ledger.release(release)]);
      await leases.releaseAll();
      assert.notEqual((await queue(store, "org")).next_time, null, `round ${round}`);
      const open = (await deliveries(store)).filter(({ state }) => state === "pending");
      await leases.claim(roomFor(1, 1));
      for (const { position } of open) void ledger.record(outcome("org", position));
      await ledger.release(release);
      assert.equal((await queue(store, "org")).next_time, null);
    }
  });

  test("an outcome is kept though the lease is lost, and never undoes what another server did", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [a, b] = [createLeases(store, clock), createLeases(store, clock)];
    await subscribe(store, ORG, "org");
    await append(store);
    await append(store);
    await publish(store, clock);
    await a.claim(roomFor(1, 1));
    clock.advance(11_000);
    await b.claim(roomFor(1, 1));
    const ledgers = [a, b].map(({ holder }) => createLedger({ store, clock, log, holder }));
    assert.equal(await ledgers[0]?.record(outcome("org", 1)), false);
    assert.equal(await ledgers[1]?.record(outcome("org", 2)), true);
    await ledgers[0]?.record(outcome("org", 2, { state: "failed", error: "late" }));
    await ledgers[0]?.release({ uid: "org", health: { ...HEALTHY, failures: 9 }, recoveredSince: null, notBefore: null });
    assert.deepEqual(
      (await deliveries(store)).map(({ state }) => state),
      ["delivered", "delivered"],
    );
    assert.deepEqual([(await queue(store, "org")).failures, (await queue(store, "org")).lease_holder], [0, b.holder]);
  });

  test("events are removed when they are old, with their deliveries, and those of subscriptions that are gone", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    await subscribe(store, ORG, "gone");
    const at = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    const ids = [];
    for (const age of [5000, 4000, 500, 3000, 0]) ids.push(await append(store, { time: at(age) }));
    await publish(store, clock);
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

  test("many old events are removed, piece by piece", async () => {
    await using store = await open();
    const clock = createManualClock();
    for (let i = 0; i < 3; i++) await subscribe(store, ORG, `s${i}`);
    for (let i = 0; i < 450; i++) await append(store, { time: "2020" });
    while (await publish(store, clock));
    await prune({ store, clock, log, retentionMs: 1000 }, AbortSignal.abort());
    assert.equal((await outbox(store)).length, 450, "stopped before it began");
    await prune({ store, clock, log, retentionMs: 1000 });
    assert.deepEqual([await outbox(store), await deliveries(store)], [[], []]);
  });

  test("events are removed also where a clock that was far ahead said when", async () => {
    await using store = await open();
    const clock = createManualClock();
    await append(store, { time: "2020" });
    await publish(store, clock);
    const row = { name: "event_pruning", value: new Date(clock.now().getTime() + 365 * 86_400_000).toISOString() };
    await store.transaction((db) => db.insertInto("server_state").values(row).execute());
    await using _pruner = startPruner({ store, clock, log, retentionMs: 1000 });
    for (let tries = 0; tries < 500 && (await outbox(store)).length > 0; tries++) await sleep(10);
    assert.deepEqual(await outbox(store), []);
  });

  test("a server that stops leaves to the next one what it has not given out", async () => {
    await using store = await open();
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 1001; i++) await append(store);
    const webhook = { sign: () => Promise.reject(new Error("nothing is sent")), send: async () => undefined };
    const policy = { backoffMs: [1000], giveUpMs: 1000 };
    const delivery = startDelivery({ store, clock: createManualClock(), log, webhook, policy, retentionMs: 3_600_000 });
    await delivery[Symbol.asyncDispose]();
    assert.ok((await outbox(store)).some(({ position }) => position === null));
  });

  test("servers that publish and renew leases never wait for each other in a circle", async () => {
    await using store = await open();
    const clock = createManualClock();
    const leases = createLeases(store, clock);
    // Those of the group above come later, and are before them in the order of uids.
    for (let i = 0; i < 100; i++) {
      await subscribe(store, TEAM, `s${(i * 37) % 100}`);
      await subscribe(store, ORG, `a${(i * 73) % 100}`);
    }
    await append(store, { group: TEAM });
    await publish(store, clock);
    const held = (await leases.claim(roomFor(1000, 0))).map(({ uid }) => uid).toReversed();
    let isOver = false;
    const publishing = (async () => {
      for (let i = 0; i < 15; i++) await append(store, { group: TEAM }).then(() => publish(store, clock));
      isOver = true;
    })();
    while (!isOver) assert.equal((await leases.renew(held)).size, 200);
    await publishing;
    if (store.dialect.name !== "postgres") return;
    const counted = await sql<{ deadlocks: number }>`select deadlocks from pg_stat_database where datname = current_database()`.execute(
      store.reader,
    );
    assert.deepEqual(counted.rows, [{ deadlocks: 0 }]);
  });

  test("a long body is read when its turn comes, and short ones together", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    const long = JSON.stringify({ body: "ü".repeat(9000) });
    const ids = [await append(store), await append(store, { data: long })];
    await publish(store, clock);
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

  test("a resumption lets what was tried before begin anew, also what is due since long", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (let i = 0; i < 3; i++) await append(store);
    await publish(store, clock);
    const begun = clock.now().toISOString();
    clock.advance(5 * 86_400_000);
    const [now, later] = [clock.now(), new Date(clock.now().getTime() + 60_000).toISOString()];
    const leases = createLeases(store, clock);
    await leases.claim(roomFor(1, 1));
    const ledger = createLedger({ store, clock, log, holder: leases.holder });
    for (const [position, next] of [
      [1, begun],
      [2, later],
    ] as const)
      await ledger.record(outcome("org", position, { state: "pending", next_attempt_time: next, attempts: 9, first_attempt_time: begun }));
    const health = { ...HEALTHY, failures: 9, failing_time: begun, pause_time: begun, pause_reason: "no attempt succeeded" };
    await ledger.release({ uid: "org", health, recoveredSince: null, notBefore: null });
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
