import assert from "node:assert/strict";
import { test } from "node:test";
import { Lru } from "./lru.ts";

test("an entry that is looked up outlives entries that are not", () => {
  const cache = new Lru<string, number>(8);
  cache.set("used", 1);
  for (let i = 0; i < 100; i++) {
    cache.set(`other ${i}`, i);
    assert.equal(cache.get("used"), 1);
  }
  assert.equal(cache.get("other 0"), undefined);
});

test("an entry that is set again outlives entries that are not, with its last value", () => {
  const cache = new Lru<string, number>(8);
  for (let i = 0; i < 100; i++) {
    cache.set("used", i);
    cache.set(`other ${i}`, i);
  }
  assert.equal(cache.get("used"), 99);
});

test("a full cache evicts as many entries as it takes", () => {
  for (const capacity of [1, 2, 3, 16]) {
    const cache = new Lru<number, number>(capacity);
    for (let i = 0; i < 50; i++) cache.set(i, i);
    const kept = Array.from({ length: 50 }, (_, i) => cache.get(i)).filter((value) => value !== undefined);
    assert.equal(kept.length, capacity);
    assert.equal(kept.at(-1), 49);
  }
});

test("a cache counts look-ups that find an entry and those that do not", () => {
  const cache = new Lru<string, number>(2);
  cache.set("a", 1);
  cache.get("a");
  cache.get("b");
  cache.delete("a");
  cache.get("a");
  assert.deepEqual([cache.hits, cache.misses], [1, 2]);
});
