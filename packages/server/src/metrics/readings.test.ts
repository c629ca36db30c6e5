import assert from "node:assert/strict";
import { test } from "node:test";
import { Readings } from "./readings.ts";

test("scrapes within the interval share one read", async () => {
  let reads = 0;
  const readings = new Readings(() => [{ value: ++reads }], 3_600_000);
  assert.deepEqual(await Promise.all([readings.latest(), readings.latest()]), [[{ value: 1 }], [{ value: 1 }]]);
  assert.deepEqual(await readings.latest(), [{ value: 1 }]);
});

test("a metric is missing while its source fails", async () => {
  let isBroken = false;
  const readings = new Readings(() => {
    if (isBroken) throw new Error("broken");
    return [{ value: 1 }];
  }, 0);
  assert.deepEqual(await readings.latest(), [{ value: 1 }]);
  isBroken = true;
  assert.deepEqual(await readings.latest(), []);
});

test("a read that never ends does not hold up the scrape", async () => {
  const readings = new Readings(() => new Promise<never>(() => {}), 0);
  assert.deepEqual(await readings.latest(), []);
});
