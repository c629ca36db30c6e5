/** Which outcomes share a transaction. Time passes only when the test says so. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import type { Store } from "../../db/store.ts";
import type { Lease } from "../../jobs/lease.ts";
import { createLog } from "../../lib/log.ts";
import { createOutcomeLog, type Outcome } from "./outcome-log.ts";
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

test("outcomes are written soon when a run has as many as let it wait", async (t) => {
  const { record, after } = createCounting(t);
  record("other", 7);
  record("queue", 7);
  assert.equal(await after(20), 0);
  record("queue", 1);
  assert.equal(await after(1), 1);
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
