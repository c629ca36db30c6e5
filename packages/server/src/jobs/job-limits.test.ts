/** The watch over a job, with a thread that only answers questions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import { giveTime, until, within } from "../../test/harness/wait.ts";
import { LimitExceeded, NoAnswer, watchJob } from "./job-limits.ts";

const heap = { used_heap_size: 1, external_memory: 1 };
const threadOf = (methods: object): Worker => ({ getHeapStatistics: async () => heap, ...methods }) as never;

function firstError(thread: Worker, cpuMs: number): Promise<Error> {
  return within(new Promise<Error>((resolve) => void watchJob(thread, { cpuMs, memoryMb: 1 }, resolve)), () => "the watch reports nothing");
}

test("a thread that does not answer is not reported as a job that computes too much", async () => {
  const error = await firstError(threadOf({ cpuUsage: () => new Promise(() => {}) }), 5);
  assert.ok(error instanceof NoAnswer);
});

test("a thread has the whole time for each of its answers", async () => {
  let answers = 0;
  const thread = threadOf({
    async cpuUsage() {
      await giveTime(5);
      answers++;
      return { user: 0, system: 0 };
    },
  });
  const errors: Error[] = [];
  // The limit of one answer is half a second; the fourth question comes later than that after the start.
  using _watch = watchJob(thread, { cpuMs: 50, memoryMb: 1 }, (error) => errors.push(error));
  await until(() => answers >= 4 || errors.length > 0);
  assert.deepEqual(errors, []);
});

test("a job whose CPU time is unknown may take ten times its limit by the clock", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  let questions = 0;
  const thread = threadOf({
    async getHeapStatistics() {
      questions++;
      now += 4000;
      return heap;
    },
  });
  const error = await firstError(thread, 1000);
  assert.ok(error instanceof LimitExceeded && error.limit === "computing time");
  assert.equal(questions, 4);
});
