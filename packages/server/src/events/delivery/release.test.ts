/** Releases queues on both stores. Nothing is sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { append, capacityOf, deliveries, ORG, outcome, queue, subscribe } from "../../../test/harness/events/queue-store.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createLog } from "../../lib/log.ts";
import type { Outcome } from "./outcome.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import { publish } from "./publish.ts";
import { createQueues } from "./queues.ts";
import { HEALTHY, type Health } from "./retry.ts";

const log = createLog("silent");

describeOnStores("releases of queues", (open) => {
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
    await run([outcome("org", 2, { due_time: later }), outcome("org", 4, { due_time: now })], HEALTHY);
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
});
