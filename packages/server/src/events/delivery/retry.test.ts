/** Every rule of retries, waits and pauses. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HEALTHY, type Health, judge, type Result, type Tried } from "./retry.ts";

const policy = { backoffMs: [5000, 30_000, 120_000], giveUpMs: 72 * 3_600_000 };
const now = new Date("2030-01-10T00:00:00.000Z");
const begun = new Date(now.getTime() - 1000);
const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
const fresh: Tried = { attempts: 0, first_attempt_time: null };
const ok: Result = { status: 200, error: "", retryAfterMs: 0 };
const failed: Result = { status: 503, error: "the sink answered with status 503", retryAfterMs: 0 };
const failing = (failures: number, since = 60_000): Health => ({ ...HEALTHY, failures, failing_time: before(since) });

const judged = (result: Result, delivery: Tried, health: Health) => judge({ result, delivery, before: health, begun, ended: now }, policy);

function waitOf(time: string | null): number {
  return Date.parse(time ?? "") - now.getTime();
}

function assertAbout(ms: number, expected: number): void {
  assert.ok(ms >= expected * 0.8 && ms <= expected * 1.2 + 1, `${ms} is not about ${expected}`);
}

describe("an attempt of a delivery", () => {
  test("an attempt of a delivery that succeeds ends the delivery and makes the queue healthy", () => {
    const verdict = judged(ok, { attempts: 4, first_attempt_time: before(1000) }, failing(7));
    assert.deepEqual(verdict, { state: "delivered", next_attempt_time: null, health: HEALTHY });
  });

  test("an attempt of a delivery that fails is retried after a wait that grows with the attempts, up to the last wait of the policy", () => {
    for (const [attempts, expected] of [
      [0, 5000],
      [1, 30_000],
      [2, 120_000],
      [3, 120_000],
      [50, 120_000],
    ] as const) {
      const { state, next_attempt_time } = judged(failed, { attempts, first_attempt_time: before(1000) }, HEALTHY);
      assert.equal(state, "pending");
      assertAbout(waitOf(next_attempt_time), expected);
    }
  });

  test("an attempt of a delivery that fails is not retried at the same time as others that failed with it", () => {
    const times = new Set(Array.from({ length: 50 }, () => judged(failed, fresh, HEALTHY).next_attempt_time));
    assert.ok(times.size > 20);
  });

  test("an attempt of a delivery holds the queue from the third failure in a row, and longer each time", () => {
    assert.equal(judged(failed, fresh, HEALTHY).health.hold_time, null);
    assert.equal(judged(failed, fresh, failing(1)).health.hold_time, null);
    for (const [failures, expected] of [
      [2, 5000],
      [3, 30_000],
      [4, 120_000],
      [9, 120_000],
    ] as const)
      assertAbout(waitOf(judged(failed, fresh, failing(failures)).health.hold_time), expected);
  });

  test("an attempt of a delivery that fails first sets the time since which the sink has been failing", () => {
    assert.equal(judged(failed, fresh, HEALTHY).health.failing_time, begun.toISOString());
    assert.equal(judged(failed, fresh, failing(1, 5000)).health.failing_time, before(5000));
  });

  test("an attempt of a delivery is not retried, and nothing else is sent, before the time that the sink asked for", () => {
    const { next_attempt_time, health } = judged({ ...failed, retryAfterMs: 3_600_000 }, fresh, HEALTHY);
    assert.equal(waitOf(next_attempt_time), 3_600_000);
    assert.equal(waitOf(health.hold_time), 3_600_000);
    assertAbout(waitOf(judged({ ...failed, retryAfterMs: 1 }, fresh, HEALTHY).next_attempt_time), 5000);
  });

  test("an attempt of a delivery that is answered with 410 pauses the subscription and keeps the event", () => {
    const gone = { status: 410, error: "the sink answered with status 410", retryAfterMs: 0 };
    const { state, health } = judged(gone, fresh, HEALTHY);
    assert.equal(state, "pending");
    assert.deepEqual([health.pause_time, health.pause_reason], [now.toISOString(), "the sink answered 410 Gone"]);
  });

  test("an attempt of a delivery that fails after three days of failures pauses the subscription and keeps the event", () => {
    const old = { attempts: 20, first_attempt_time: before(policy.giveUpMs) };
    const { state, health } = judged(failed, old, failing(20, policy.giveUpMs));
    assert.equal(state, "pending");
    assert.equal(health.pause_time, now.toISOString());
    assert.match(health.pause_reason, /no attempt succeeded since 2030-01-07/);
    assert.equal(judged(failed, old, failing(20, policy.giveUpMs - 1)).health.pause_time, null);
  });

  test("an attempt of a delivery gives up an event that failed for three days while other events were delivered", () => {
    const old = { attempts: 20, first_attempt_time: before(policy.giveUpMs) };
    assert.equal(judged(failed, old, HEALTHY).state, "failed");
    assert.equal(judged(failed, { ...old, first_attempt_time: before(policy.giveUpMs - 1) }, HEALTHY).state, "pending");
    assert.equal(judged(failed, old, failing(5)).state, "pending", "a sink in trouble loses no events");
  });

  test("an attempt of a delivery gives up and pauses nothing before the fifth attempt, however long ago the first was", () => {
    const first_attempt_time = before(policy.giveUpMs);
    assert.equal(judged(failed, { attempts: 3, first_attempt_time }, HEALTHY).state, "pending");
    assert.equal(judged(failed, { attempts: 4, first_attempt_time }, HEALTHY).state, "failed");
    const pause = (failures: number) => judged(failed, fresh, failing(failures, policy.giveUpMs)).health.pause_time;
    assert.equal(pause(3), null);
    assert.equal(pause(4), now.toISOString());
  });
});
