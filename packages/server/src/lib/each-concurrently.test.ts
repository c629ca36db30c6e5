import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { eachConcurrently } from "./each-concurrently.ts";

test("items are worked on at the same time, up to the limit", async () => {
  let [running, most, done] = [0, 0, 0];
  await eachConcurrently([1, 2, 3, 4, 5], 2, async () => {
    most = Math.max(most, ++running);
    await setImmediate();
    running--;
    done++;
  });
  assert.deepEqual([most, done], [2, 5]);
});

test("work that fails while the next item is read ends the run once the other work is over", async () => {
  const slow = Promise.withResolvers<void>();
  async function* items() {
    yield "slow";
    yield "failing";
    // The failure has nobody who waits for it yet.
    for (let i = 0; i < 3; i++) await setImmediate();
    slow.resolve();
    yield "last";
  }
  const ended: string[] = [];
  const run = eachConcurrently(items(), 3, async (item) => {
    if (item === "failing") throw new Error(item);
    await slow.promise;
    await setImmediate();
    ended.push(item);
  });
  await assert.rejects(run, { message: "failing" });
  assert.deepEqual(ended, ["slow", "last"]);
});
