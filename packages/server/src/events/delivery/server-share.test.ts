/** The part of a backlog that a server may claim, by the number of queues and of servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { until } from "../../../test/harness/wait.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import { countServers, SERVER_SESSION } from "../../db/servers.ts";
import type { Store } from "../../db/store.ts";
import { createLease } from "../../jobs/lease.ts";
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

test("one of two servers may have half of a small backlog, and any part of a large one", async () => {
  const url = await createMigratedDatabase();
  await using store = await openDatabase({ url, dataDir: "", log: createLog("silent") });
  const lease = createLease({ store, clock, table: "subscription_queue", key: "subscription_uid", durationMs: 10_000 });
  await insertDueQueues(store, ["first", "second", "third"]);
  assert.equal(await createServerShare(store, lease).read(now), Number.POSITIVE_INFINITY, "no other server is there");
  const sessions = [1, 2].map(() => new pg.Client({ connectionString: url, application_name: SERVER_SESSION }));
  for (const session of sessions) await session.connect();
  try {
    await until(async () => (await countServers(store.reader)) === 2);
    const share = createServerShare(store, lease);
    assert.equal(await share.read(now), 2);
    await store.transaction((db) => lease.claim(db, ["second"]));
    assert.equal(await share.read(now), 1);
    await insertDueQueues(
      store,
      Array.from({ length: 200 }, (_, i) => `more-${i}`),
    );
    assert.equal(await share.read(now), Number.POSITIVE_INFINITY);
  } finally {
    for (const session of sessions) await session.end();
  }
});
