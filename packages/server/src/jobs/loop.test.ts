/** When a loop runs its next step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog } from "../lib/log.ts";
import { Loop } from "./loop.ts";

const common = { name: "test", log: createLog("silent") };

test("a loop runs a step when the last one said, or when it is woken", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 0, step: async () => (++steps < 3 ? 5 : Number.POSITIVE_INFINITY) });
  await sleep(100);
  assert.equal(steps, 3);
  loop.wake();
  await sleep(20);
  assert.equal(steps, 4);
});

test("a loop that is woken many times during a step runs one more step", async () => {
  let steps = 0;
  await using loop = new Loop({
    ...common,
    spacingMs: 0,
    async step() {
      steps++;
      await sleep(30);
      return Number.POSITIVE_INFINITY;
    },
  });
  await sleep(10);
  for (let i = 0; i < 100; i++) loop.wake();
  await sleep(120);
  assert.equal(steps, 2);
});

test("a loop keeps its spacing, however often it is woken", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 50, step: async () => 1000 * ++steps });
  for (let i = 0; i < 40; i++) {
    loop.wake();
    await sleep(5);
  }
  assert.ok(steps >= 2 && steps <= 20, `${steps} steps`);
});

test("a loop backs off after failing steps, and does not wake up meanwhile", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 0, step: () => Promise.reject(new Error(`no ${++steps}`)) });
  for (let i = 0; i < 50; i++) {
    loop.wake();
    await sleep(5);
  }
  assert.ok(steps >= 2 && steps <= 8, `${steps} steps`);
});

test("disposing of a loop waits for the step under way, and not for the next one", async () => {
  let isDone = false;
  const loop = new Loop({
    ...common,
    spacingMs: 60_000,
    async step() {
      await sleep(30);
      isDone = true;
      return 60_000;
    },
  });
  const begun = performance.now();
  await loop[Symbol.asyncDispose]();
  assert.equal(isDone, true);
  assert.ok(performance.now() - begun < 5000);
  const idle = new Loop({ ...common, spacingMs: 60_000, step: async () => 60_000 });
  await sleep(20);
  await idle[Symbol.asyncDispose]();
});
