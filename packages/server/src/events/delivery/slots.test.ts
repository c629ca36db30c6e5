/** Slots for fast and slow sinks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDeliverySlots, type DeliverySlots } from "./slots.ts";

function free(slots: DeliverySlots): { healthy: number; failing: number } {
  const { healthy, failing } = slots.capacity();
  return { healthy: healthy.free(), failing: failing.free() };
}

test("a failing queue occupies a slow slot and a healthy one a fast slot, until the run ends", () => {
  const slots = createDeliverySlots(() => {});
  const full = free(slots);
  {
    using _one = slots.occupy("a", false);
    using _other = slots.occupy("b", true);
    assert.deepEqual(free(slots), { healthy: full.healthy - 1, failing: full.failing - 1 });
  }
  assert.deepEqual(free(slots), full);
});

test("an attempt that takes long moves its queue to a slow slot, where its next run begins", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let moves = 0;
  const slots = createDeliverySlots(() => moves++);
  const full = free(slots);
  {
    using slot = slots.occupy("a", false);
    slot.onAttempt();
    t.mock.timers.tick(1000);
    assert.deepEqual(free(slots), { healthy: full.healthy, failing: full.failing - 1 });
    assert.equal(moves, 1);
  }
  assert.deepEqual(free(slots), full);
  {
    using slot = slots.occupy("a", false);
    assert.equal(free(slots).failing, full.failing - 1);
    slot.onAttempt();
  }
  using _ = slots.occupy("a", false);
  assert.equal(free(slots).healthy, full.healthy - 1, "it was fast the last time");
});

test("a queue that is known to be slow has no slot while all slow slots are taken", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const slots = createDeliverySlots(() => {});
  {
    using slot = slots.occupy("slow", false);
    slot.onAttempt();
    t.mock.timers.tick(1000);
  }
  assert.equal(slots.hasSlot("slow", false), true);
  const occupied = Array.from({ length: free(slots).failing }, (_, i) => slots.occupy(`failing${i}`, true));
  assert.deepEqual([slots.hasSlot("slow", false), slots.hasSlot("quick", false)], [false, true]);
  occupied[0]?.[Symbol.dispose]();
  assert.equal(slots.hasSlot("slow", false), true);
});

test("an organization leaves as many slots free as it has, in both pools", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const slots = createDeliverySlots(() => {});
  const [org, other] = ["a".repeat(40), "b".repeat(40)];
  const total = free(slots);
  for (let i = 0; slots.capacity().healthy.mayTake(org); i++) slots.occupy(`${org}/${i}`, false);
  assert.deepEqual(free(slots), { ...total, healthy: total.healthy / 2 });
  assert.deepEqual(slots.capacity().healthy.full(), [org]);
  for (let i = 0; slots.capacity().healthy.mayTake(other); i++) slots.occupy(`${other}/${i}`, false);
  assert.deepEqual(free(slots), { ...total, healthy: total.healthy / 4 });
  t.mock.timers.tick(1000);
  assert.deepEqual(free(slots), { healthy: total.healthy, failing: total.failing - (total.healthy * 3) / 4 });
  for (let i = 0; slots.capacity().failing.mayTake(org); i++) slots.occupy(`${org}/failing${i}`, true);
  const known = slots.occupy(`${other}/known`, false);
  known.onAttempt();
  t.mock.timers.tick(1000);
  known[Symbol.dispose]();
  assert.equal(slots.hasSlot(`${other}/known`, false), true);
  assert.equal(slots.capacity().failing.mayTake(org), false);
});
