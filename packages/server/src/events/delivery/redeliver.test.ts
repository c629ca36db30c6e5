/** Resumes queues on both stores. Nothing is sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { append, capacityOf, deliveries, ORG, outcome, subscribe } from "../../../test/harness/events/queue-store.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createLog } from "../../lib/log.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import { publish } from "./publish.ts";
import { createQueues } from "./queues.ts";
import { resumeQueue } from "./redeliver.ts";
import { HEALTHY } from "./retry.ts";

const log = createLog("silent");

describeOnStores("resuming of queues", (open) => {
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
});
