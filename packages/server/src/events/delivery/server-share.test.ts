/** The part of a backlog that a server may claim, by the number of queues and of servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { until } from "../../../test/harness/wait.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import { createReadHandle } from "../../db/handle.ts";
import { countServers, SERVER_SESSION } from "../../db/servers.ts";
import type { Store } from "../../db/store.ts";
import { createLease, RELEASED } from "../../jobs/lease.ts";
import { createLog } from "../../lib/log.ts";
import { createServerShare } from "./server-share.ts";

const PARENT = "a".repeat(40);
const clock = createManualClock();
const now = clock.now().toISOString();
const row = { name: "", create_time: "", update_time: "", body: "{}" };

async function insertDueQueues(store: Store, names: readonly string[]): Promise<void> {
  await store.transaction(async (db) => {
    await db
      .insertInto("group")
      .values({ ...row, uid: PARENT, parent: null, verified: 0 })
      .onConflict((conflict) => conflict.column("uid").doNothing())
      .execute();
    const subscriptions = names.map((uid) => ({ ...row, uid, parent: PARENT, sink: "https://sink.example.com/" }));
    await db.insertInto("subscription").values(subscriptions).execute();
    const queues = names.map((uid) => ({ subscription_uid: uid, failures: 0, pause_reason: "", next_time: now }));
    await db.insertInto("subscription_queue").values(queues).execute();
  });
}

/** Runs the work beside as many sessions of servers as given. */
async function withServers(store: Store, url: string, count: number, work: () => Promise<void>): Promise<void> {
  const sessions = Array.from({ length: count }, () => new pg.Client({ connectionString: url, application_name: SERVER_SESSION }));
  for (const session of sessions) await session.connect();
  try {
    await until(async () => (await countServers(store.reader)) === count);
    await work();
  } finally {
    for (const session of sessions) await session.end();
  }
}

const openLease = (store: Store) => createLease({ store, clock, table: "subscription_queue", key: "subscription_uid", durationMs: 10_000 });
const times = { now, unclaimedBy: new Date(clock.now().getTime() - 1).toISOString() };

/** @returns the store with a reader that counts its statements */
function createCounting(store: Store) {
  let statements = 0;
  const reader = createReadHandle(store.dialect, (query) => {
    statements++;
    return store.reader.getExecutor().executeQuery(query);
  });
  return { store: { ...store, reader } as Store, statements: () => statements };
}

test("one of two servers may have half of a small backlog, and any part of a large one", async () => {
  const url = await createMigratedDatabase();
  await using store = await openDatabase({ url, dataDir: "", log: createLog("silent") });
  const lease = openLease(store);
  await insertDueQueues(store, ["first", "second", "third"]);
  const unlimited = { queues: Number.POSITIVE_INFINITY, hasSome: true, hasUnlimited: true, isExceeded: false };
  assert.deepEqual(await createServerShare(store, lease).read(times), unlimited, "no other server is there");
  await withServers(store, url, 2, async () => {
    const share = createServerShare(store, lease);
    assert.deepEqual(await share.read(times), { queues: 2, hasSome: true, hasUnlimited: false, isExceeded: false });
    await store.transaction((db) => lease.claim(db, ["second"]));
    assert.deepEqual(await share.read(times), { queues: 1, hasSome: true, hasUnlimited: false, isExceeded: false });
    await insertDueQueues(
      store,
      Array.from({ length: 200 }, (_, i) => `more-${i}`),
    );
    assert.deepEqual(await share.read(times), unlimited);
  });
});

test("a server that has its share finds only queues that failed or that nobody claimed for a while", async () => {
  const url = await createMigratedDatabase();
  await using store = await openDatabase({ url, dataDir: "", log: createLog("silent") });
  const [lease, other] = [openLease(store), openLease(store)];
  await insertDueQueues(store, ["first", "second", "third"]);
  await withServers(store, url, 2, async () => {
    const share = createServerShare(store, lease);
    await store.transaction((db) => lease.claim(db, ["first", "second"]));
    const full = { queues: 0, hasSome: false, hasUnlimited: false, isExceeded: false };
    const others = { ...full, hasSome: true, hasUnlimited: true };
    assert.deepEqual(await share.read(times), full);
    assert.deepEqual(await share.read({ now, unclaimedBy: now }), others, "the third has waited");
    await store.transaction((db) =>
      db.updateTable("subscription_queue").set({ failures: 1 }).where("subscription_uid", "=", "third").execute(),
    );
    assert.deepEqual(await share.read(times), { ...others, isExceeded: true }, "one of two healthy queues is its share");
    await store.transaction((db) => other.claim(db, ["third"]));
    assert.deepEqual(await share.read(times), { ...full, isExceeded: true });
  });
});

test("runs whose turns end together share one count of servers and one of queues", async (t) => {
  const url = await createMigratedDatabase();
  await using store = await openDatabase({ url, dataDir: "", log: createLog("silent") });
  const lease = openLease(store);
  await insertDueQueues(store, ["first", "second", "third"]);
  await withServers(store, url, 2, async () => {
    const counting = createCounting(store);
    const share = createServerShare(counting.store, lease);
    const time = t.mock.method(performance, "now", () => 0);
    const ask = () => Promise.all(Array.from({ length: 8 }, () => share.isExceeded(times)));
    assert.deepEqual(await ask(), Array(8).fill(false));
    assert.equal(counting.statements(), 2);
    await store.transaction((db) => lease.claim(db, ["first", "second", "third"]));
    assert.deepEqual(await ask(), Array(8).fill(false), "remembered for 100 ms");
    assert.equal(counting.statements(), 2);
    time.mock.mockImplementation(() => 101);
    assert.deepEqual(await ask(), Array(8).fill(true));
    assert.equal(counting.statements(), 3 + 8, "an excess is read again");
    await store.transaction((db) => db.updateTable("subscription_queue").set(RELEASED).where("subscription_uid", "=", "third").execute());
    assert.deepEqual(await ask(), Array(8).fill(false), "no run ends because of an excess that is over");
    time.mock.restore();
  });
});
