/** How many slots organizations get. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { claimFairly, createSlots, type Slots } from "./fair-share.ts";

const ORG = "a".repeat(40);
const OTHER = "b".repeat(40);

function takeAll(slots: Slots, uid: string): number {
  let count = 0;
  for (; slots.mayTake(uid); count++) slots.take(uid);
  return count;
}

test("an organization with a share of a half leaves as many slots free as it has", () => {
  const slots = createSlots({ slots: 16, shareOfOne: 1 / 2 });
  assert.equal(takeAll(slots, `${ORG}/1`), 8);
  assert.equal(takeAll(slots, OTHER), 4);
  assert.deepEqual(slots.full(), [ORG, OTHER]);
  assert.equal(slots.free(), 4);
  for (let i = 0; i < 8; i++) slots.giveBack(ORG);
  assert.equal(takeAll(slots, OTHER), 4);
});

test("an organization has at most as many slots as the policy says, and together they have all", () => {
  const slots = createSlots({ slots: 5, maxOfOne: 2 });
  assert.deepEqual(
    [ORG, OTHER, "c"].map((uid) => takeAll(slots, uid)),
    [2, 2, 1],
  );
  assert.equal(slots.free(), 0);
});

test("a copy of slots does not change the original", () => {
  const slots = createSlots({ slots: 2, maxOfOne: 1 });
  slots.copy().take(ORG);
  assert.deepEqual([slots.free(), slots.full()], [2, []]);
  slots.take(ORG);
  assert.deepEqual(slots.copy().full(), [ORG]);
});

test("a fair claim passes over rows of full organizations and goes on with the rows of others", async () => {
  const waiting = [`${ORG}/1`, `${ORG}/2`, `${ORG}/3`, `${ORG}/4`, `${OTHER}/1`, `${OTHER}/2`];
  const claimed = await claimFairly({
    slots: createSlots({ slots: 4, maxOfOne: 2 }),
    limit: 10,
    read: async (full, limit) => waiting.filter((uid) => !full.includes(uid.slice(0, 40))).slice(0, limit),
    uidOf: (uid) => uid,
    async claim(uids) {
      for (const uid of uids) waiting.splice(waiting.indexOf(uid), 1);
    },
  });
  assert.deepEqual(claimed, [`${ORG}/1`, `${ORG}/2`, `${OTHER}/1`, `${OTHER}/2`]);
});

test("several slots are taken at once by the same shares", () => {
  const slots = createSlots({ slots: 16, shareOfOne: 1 / 2 });
  assert.deepEqual([slots.mayTake(ORG, 9), slots.mayTake(ORG, 8)], [false, true]);
  slots.take(ORG, 8);
  assert.deepEqual([slots.mayTake(ORG), slots.mayTake(OTHER, 5), slots.mayTake(OTHER, 4)], [false, false, true]);
  slots.giveBack(ORG, 8);
  assert.deepEqual([slots.free(), slots.full()], [16, []]);
  const unshared = createSlots({ slots: 5 });
  assert.deepEqual([unshared.mayTake(ORG, 5), unshared.mayTake(ORG, 6)], [true, false]);
});
