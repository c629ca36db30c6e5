/** When a loop runs its next step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { never, until, within } from "../../test/harness/wait.ts";
import { createLog } from "../lib/log.ts";
import { Loop, waitFully } from "./loop.ts";

const common = { name: "test", log: createLog("silent") };

test("a loop runs a step when the last one said, or when it is woken", async () => {
  let steps = 0;
  await using loop = new Loop({ ...common, spacingMs: 0, step: async () => (++steps < 3 ? 5 : Number.POSITIVE_INFINITY) });
  await until(() => steps === 3);
  await never(() => assert.equal(steps, 3));
  loop.wake();
  await until(() => steps === 4);
  await never(() => assert.equal(steps, 4));
});

test("a loop that is woken many times during a step runs one more step", async () => {
  let steps = 0;
  const { promise: isWoken, resolve: goOn } = Promise.withResolvers<void>();
  await using loop = new Loop({
    ...common,
    spacingMs: 0,
    async step() {
      steps++;
      await isWoken;
      return Number.POSITIVE_INFINITY;
    },
  });
  for (let i = 0; i < 100; i++) loop.wake();
  goOn();
  await until(() => steps === 2);
  await never(() => assert.equal(steps, 2));
});

test("a loop keeps its spacing, however often it is woken", async () => {
  let steps = 0;
  const options = { ...common, step: async () => 1000 * ++steps };
  {
    await using loop = new Loop({ ...options, spacingMs: 600_000 });
    await never(() => {
      loop.wake();
      assert.equal(steps, 1);
    });
  }
  await using loop = new Loop({ ...options, spacingMs: 5 });
  await until(() => {
    loop.wake();
    return steps >= 4;
  });
});

test("a loop backs off after failing steps, and does not wake up meanwhile", async () => {
  let steps = 0;
  let wakes = 0;
  await using loop = new Loop({ ...common, spacingMs: 0, step: () => Promise.reject(new Error(`no ${++steps}`)) });
  for (; steps < 4; wakes++) {
    loop.wake();
    await nextTurn();
  }
  assert.ok(wakes > 20 * steps, `${wakes} wakes for ${steps} steps`);
});

test("disposing of a loop waits for the step under way, and not for the next one", async () => {
  let isDone = false;
  const { promise: isDisposed, resolve: dispose } = Promise.withResolvers<void>();
  const loop = new Loop({
    ...common,
    spacingMs: 600_000,
    async step() {
      await isDisposed;
      await nextTurn();
      isDone = true;
      return 60_000;
    },
  });
  const closed = loop[Symbol.asyncDispose]();
  dispose();
  await within(closed, () => "the loop waits for its next step");
  assert.equal(isDone, true);
  let steps = 0;
  const idle = new Loop({ ...common, spacingMs: 600_000, step: async () => 60_000 * ++steps });
  await until(() => steps === 1);
  await within(idle[Symbol.asyncDispose](), () => "the idle loop waits for its next step");
});

test("a step that waits fully does not run before the end of a delay that is longer than the sleep of a loop", async () => {
  const DAY_MS = 86_400_000;
  let now = 5;
  let steps = 0;
  const step = waitFully(
    async () => {
      if (++steps === 2) throw new Error("no");
      return DAY_MS;
    },
    () => now,
  );
  assert.equal(await step(), DAY_MS);
  for (let left = DAY_MS; left > 0; left -= 60_000) {
    assert.equal(await step(), left);
    now += 60_000;
  }
  assert.equal(steps, 1);
  await assert.rejects(step(), { message: "no" });
  assert.equal(await step(), DAY_MS);
  assert.equal(steps, 3);
});
