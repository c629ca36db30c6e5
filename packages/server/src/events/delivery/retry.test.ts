/** What an attempt's result means: every rule of retries, waits and pauses. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HEALTHY, type Health, judge, parseRetryAfter, type Result, type Tried } from "./retry.ts";

const policy = { backoffMs: [5000, 30_000, 120_000], giveUpMs: 72 * 3_600_000 };
const now = new Date("2030-01-10T00:00:00.000Z");
const begun = new Date(now.getTime() - 1000);
const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
const fresh: Tried = { attempts: 0, first_attempt_time: null };
const ok: Result = { status: 200, error: "", retryAfterMs: 0 };
const failed: Result = { status: 503, error: "the sink answered with status 503", retryAfterMs: 0 };
const failing = (failures: number, since = 60_000): Health => ({ ...HEALTHY, failures, failing_time: before(since) });

function waitOf(time: string | null): number {
  return Date.parse(time ?? "") - now.getTime();
}

function assertAbout(ms: number, expected: number): void {
  assert.ok(ms >= expected * 0.8 && ms <= expected * 1.2 + 1, `${ms} is not about ${expected}`);
}

describe("an attempt", () => {
  test("that succeeds ends the delivery, and whatever the queue was in", () => {
    const verdict = judge(ok, { attempts: 4, first_attempt_time: before(1000) }, failing(7), begun, now, policy);
    assert.deepEqual(verdict, { state: "delivered", next_attempt_time: null, health: HEALTHY });
  });

  test("that fails is repeated after a pause that grows with the attempts, and the last pause repeats", () => {
    for (const [attempts, expected] of [
      [0, 5000],
      [1, 30_000],
      [2, 120_000],
      [3, 120_000],
      [50, 120_000],
    ] as const) {
      const { state, next_attempt_time } = judge(failed, { attempts, first_attempt_time: before(1000) }, HEALTHY, begun, now, policy);
      assert.equal(state, "pending");
      assertAbout(waitOf(next_attempt_time), expected);
    }
  });

  test("is repeated at other times than those that failed with it", () => {
    const times = new Set(Array.from({ length: 50 }, () => judge(failed, fresh, HEALTHY, begun, now, policy).next_attempt_time));
    assert.ok(times.size > 20);
  });

  test("that fails alone holds nobody up; the third failure in a row does, for longer each time", () => {
    assert.equal(judge(failed, fresh, HEALTHY, begun, now, policy).health.hold_time, null);
    assert.equal(judge(failed, fresh, failing(1), begun, now, policy).health.hold_time, null);
    for (const [failures, expected] of [
      [2, 5000],
      [3, 30_000],
      [4, 120_000],
      [9, 120_000],
    ] as const)
      assertAbout(waitOf(judge(failed, fresh, failing(failures), begun, now, policy).health.hold_time), expected);
  });

  test("that fails first says since when the sink has been in trouble", () => {
    assert.equal(judge(failed, fresh, HEALTHY, begun, now, policy).health.failing_time, begun.toISOString());
    assert.equal(judge(failed, fresh, failing(1, 5000), begun, now, policy).health.failing_time, before(5000));
  });

  test("is not repeated, nor anything else sent, before the sink has said", () => {
    const { next_attempt_time, health } = judge({ ...failed, retryAfterMs: 3_600_000 }, fresh, HEALTHY, begun, now, policy);
    assert.equal(waitOf(next_attempt_time), 3_600_000);
    assert.equal(waitOf(health.hold_time), 3_600_000);
    assertAbout(waitOf(judge({ ...failed, retryAfterMs: 1 }, fresh, HEALTHY, begun, now, policy).next_attempt_time), 5000);
  });

  test("that is answered 410 pauses the subscription and keeps the event", () => {
    const gone = { status: 410, error: "the sink answered with status 410", retryAfterMs: 0 };
    const { state, health } = judge(gone, fresh, HEALTHY, begun, now, policy);
    assert.equal(state, "pending");
    assert.deepEqual([health.pause_time, health.pause_reason], [now.toISOString(), "the sink answered 410 Gone"]);
  });

  test("that fails after three days of failures pauses the subscription and keeps the event", () => {
    const old = { attempts: 20, first_attempt_time: before(policy.giveUpMs) };
    const { state, health } = judge(failed, old, failing(20, policy.giveUpMs), begun, now, policy);
    assert.equal(state, "pending");
    assert.equal(health.pause_time, now.toISOString());
    assert.match(health.pause_reason, /no attempt succeeded since 2030-01-07/);
    assert.equal(judge(failed, old, failing(20, policy.giveUpMs - 1), begun, now, policy).health.pause_time, null);
  });

  test("that fails for three days at an event while others succeed gives that event up", () => {
    const old = { attempts: 20, first_attempt_time: before(policy.giveUpMs) };
    assert.equal(judge(failed, old, HEALTHY, begun, now, policy).state, "failed");
    assert.equal(judge(failed, { ...old, first_attempt_time: before(policy.giveUpMs - 1) }, HEALTHY, begun, now, policy).state, "pending");
    assert.equal(judge(failed, old, failing(5), begun, now, policy).state, "pending", "a sink in trouble loses no events");
  });

  test("that is one of few gives nothing up and pauses nothing, however long ago the first was: the server may have been off", () => {
    const first_attempt_time = before(policy.giveUpMs);
    assert.equal(judge(failed, { attempts: 3, first_attempt_time }, HEALTHY, begun, now, policy).state, "pending");
    assert.equal(judge(failed, { attempts: 4, first_attempt_time }, HEALTHY, begun, now, policy).state, "failed");
    const pause = (failures: number) => judge(failed, fresh, failing(failures, policy.giveUpMs), begun, now, policy).health.pause_time;
    assert.equal(pause(3), null);
    assert.equal(pause(4), now.toISOString());
  });
});

test("Retry-After is seconds or a date, no longer than a day; all else is none", () => {
  const parse = (value: string | string[] | undefined) => parseRetryAfter(value, now);
  assert.equal(parse("120"), 120_000);
  assert.equal(parse("Thu, 10 Jan 2030 00:01:00 GMT"), 60_000);
  assert.equal(parse("999999999"), 86_400_000);
  assert.equal(parse("Thu, 10 Jan 2099 00:00:00 GMT"), 86_400_000);
  for (const value of [undefined, "", "0", "-5", "soon", "1.5", "1e3", "Thu, 10 Jan 2020 00:00:00 GMT", ["1", "2"], "9".repeat(400)])
    assert.equal(parse(value), 0, String(value));
});
