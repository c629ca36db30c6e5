/** Which outcomes share a transaction, and what it reads. Time passes only when the test says so. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { createLease, type Lease } from "../../jobs/lease.ts";
import { createLog } from "../../lib/log.ts";
import type { Outcome } from "./outcome.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import { HEALTHY } from "./retry.ts";

/** A store whose transactions end at once and count. */
function createCounting(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let transactions = 0;
  const transaction = async () => {
    transactions++;
    return new Set<string>();
  };
  const store = { transaction } as unknown as Store;
  const outcomes = createOutcomeLog({ store, clock: createManualClock(), log: createLog("silent"), lease: {} as Lease });
  return {
    outcomes,
    record(uid: string, count: number): void {
      for (let i = 0; i < count; i++) void outcomes.record({ subscription_uid: uid, position: i } as Outcome);
    },
    /** @returns the transactions so far */
    async after(ms: number): Promise<number> {
      for (let passed = 0; passed < ms; passed++) {
        t.mock.timers.tick(1);
        await new Promise(setImmediate);
      }
      return transactions;
    },
  };
}

test("outcomes that nobody waits for share a transaction for 50 ms", async (t) => {
  const { record, after } = createCounting(t);
  for (let i = 0; i < 5; i++) {
    record(`queue ${i}`, 1);
    assert.equal(await after(9), 0);
  }
  assert.equal(await after(5), 1, "9 ms five times, and 5 ms");
  assert.equal(await after(100), 1);
});

test("a release is written within 10 ms, with the outcomes before it", async (t) => {
  const { outcomes, record, after } = createCounting(t);
  record("queue", 1);
  void outcomes.release({ uid: "queue", health: HEALTHY, recoveredSince: null, notBefore: null });
  assert.equal(await after(9), 0);
  assert.equal(await after(1), 1);
  record("queue", 1);
  assert.equal(await after(20), 1);
  void outcomes.release({ uid: "queue", health: HEALTHY, recoveredSince: null, notBefore: null });
  assert.equal(await after(1), 2, "the outcome has waited for 10 ms before");
});

test("outcomes are written soon when all runs have half as many as let them wait", async (t) => {
  const { record, after } = createCounting(t);
  record("other", 7);
  record("queue", 8);
  assert.equal(await after(20), 0);
  record("other", 1);
  assert.equal(await after(1), 1);
});

test("outcomes are written soon when one of several runs has three quarters of what lets it wait", async (t) => {
  const { record, after } = createCounting(t);
  record("slow", 1);
  record("queue", 11);
  record("other", 1);
  assert.equal(await after(20), 0);
  record("queue", 1);
  assert.equal(await after(1), 1);
});

test("outcomes that the last transaction left count for the next one", async (t) => {
  const { record, after } = createCounting(t);
  for (let i = 0; i < 25; i++) record(`queue ${i}`, 7);
  record("last", 33);
  assert.equal(await after(10), 1, "200 of 208 outcomes");
  assert.equal(await after(11), 2);
});

test("a transaction takes at most 200 outcomes, and begins at once when there are more", async (t) => {
  const { record, after } = createCounting(t);
  for (let i = 0; i < 100; i++) record(`queue ${i}`, 1);
  assert.equal(await after(20), 0);
  for (let i = 0; i < 150; i++) record(`queue ${i}`, 1);
  assert.equal(await after(1), 1);
  assert.equal(await after(48), 1);
  assert.equal(await after(2), 2);
});

test("closing writes what waits", async (t) => {
  const { outcomes, record, after } = createCounting(t);
  record("queue", 1);
  assert.equal(await after(20), 0);
  await outcomes.close();
  assert.equal(await after(0), 1);
});

/** Inserts deliveries of one subscription, without their events. */
async function insertDeliveries(client: pg.Client, state: string, first: number, last: number): Promise<void> {
  await client.query(
    `insert into delivery (subscription_uid, position, event_id, state, attempts, create_time, next_attempt_time, status_code, error, latency_ms, exchange)
    select 'queue', n, n::text, $1, 0, '', '', 0, '', 0, repeat('x', 300) from generate_series($2::int, $3::int) as n`,
    [state, first, last],
  );
}

test("an outcome on PostgreSQL reads its own delivery and not the backlog", async () => {
  const url = await createMigratedDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set session_replication_role = replica");
  await insertDeliveries(client, "delivered", 1, 30_000);
  await client.query("analyze delivery");
  await insertDeliveries(client, "pending", 30_001, 32_000);
  await client.end();
  await using store = await openDatabase({ url, dataDir: "", log: createLog("silent") });
  const clock = createManualClock();
  const read: number[] = [];
  const transaction = (work: (db: WriteDb) => Promise<unknown>) =>
    store.transaction(async (db) => {
      const result = await work(db);
      const { rows } = await sql<{ n: number }>`
        select (seq_tup_read + idx_tup_fetch)::int as n from pg_stat_xact_user_tables where relname = 'delivery'`.execute(db);
      read.push(...rows.map(({ n }) => n));
      return result;
    });
  const lease = createLease({ store, clock, table: "subscription_queue", key: "subscription_uid", durationMs: 1000 });
  const outcomes = createOutcomeLog({ store: { ...store, transaction } as Store, clock, log: createLog("silent"), lease });
  const time = clock.now().toISOString();
  const times = { next_attempt_time: time, first_attempt_time: time, last_attempt_time: time };
  const rest = { state: "delivered", attempts: 1, status_code: 204, error: "", latency_ms: 1, exchange: "" } as const;
  await outcomes.record({ subscription_uid: "queue", position: 31_000, due_time: "", ...times, ...rest });
  const stored = await store.reader.selectFrom("delivery").select("state").where("position", "=", 31_000).execute();
  assert.deepEqual(stored, [{ state: "delivered" }]);
  assert.equal(read.length, 1);
  assert.ok((read[0] ?? 0) < 10, `${read} deliveries were read`);
});
