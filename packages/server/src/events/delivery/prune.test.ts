/** Prunes events and deliveries on both stores. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { append, deliveries, ORG, outbox, subscribe } from "../../../test/harness/events/queue-store.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { until } from "../../../test/harness/wait.ts";
import { createLog } from "../../lib/log.ts";
import { prune, startPruner } from "./prune.ts";
import { publish } from "./publish.ts";

const log = createLog("silent");

describeOnStores("pruning of events", (open) => {
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
});
