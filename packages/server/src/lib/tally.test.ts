import assert from "node:assert/strict";
import { test } from "node:test";
import { Tally } from "./tally.ts";

test("a tally counts per key and lists the keys that are not at zero", () => {
  const tally = new Tally<string>([["c", 3]]);
  tally.add("a", 2);
  tally.add("b", 1);
  tally.add("a", -1);
  tally.add("b", -1);
  tally.add("d", 0);
  assert.deepEqual([tally.get("a"), tally.get("b"), tally.get("d")], [1, 0, 0]);
  assert.deepEqual(tally.counts().sort(), [
    ["a", 1],
    ["c", 3],
  ]);
});

test("a tally forgets keys at zero, however many there are, and keeps the others", () => {
  const tally = new Tally<number>();
  tally.add(-1, 5);
  for (let key = 0; key < 10_000; key++) {
    tally.add(key, 1);
    tally.add(key, -1);
  }
  assert.ok(tally.size <= 66, `${tally.size} keys`);
  assert.deepEqual(tally.counts(), [[-1, 5]]);
});

test("a key that goes to zero again and again counts as one key at zero", () => {
  const tally = new Tally<string>();
  for (let i = 0; i < 1000; i++) {
    tally.add("busy", 1);
    tally.add("busy", -1);
  }
  tally.add("busy", 1);
  assert.deepEqual(tally.counts(), [["busy", 1]]);
});
