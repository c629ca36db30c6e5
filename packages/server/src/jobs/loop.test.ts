/** When a loop takes its next step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog } from "../lib/log.ts";
import { Loop } from "./loop.ts";

const common = { name: "test", log: createLog("silent") };

test("a step follows when the last one said, or when it is woken", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 0, step: async () => (++steps < 3 ? 5 : Number.POSITIVE_INFINITY) });
  await sleep(100);
  assert.equal(steps, 3);
  loop.wake();
  await sleep(20);
  assert.equal(steps, 4);
});

test("being woken during a step leads to another one, and many times to one", async () => {
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

test("steps keep their distance, however often they are asked for", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 50, step: async () => 1000 * ++steps });
  for (let i = 0; i < 40; i++) {
    loop.wake();
    await sleep(5);
  }
  assert.ok(steps >= 2 && steps <= 20, `${steps} steps`);
});

test("a step that fails is tried again, after pauses that nobody shortens", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 0, step: () => Promise.reject(new Error(`no ${++steps}`)) });
  for (let i = 0; i < 50; i++) {
    loop.wake();
    await sleep(5);
  }
  assert.ok(steps >= 2 && steps <= 8, `${steps} steps`);
});

test("disposing of it waits for the step under way, and for nothing else", async () => {
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
