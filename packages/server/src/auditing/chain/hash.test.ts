import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { hashOf } from "./hash.ts";

test("the hash of an entry covers the hash before it and all bytes of the entry, whatever its length", () => {
  const first = hashOf(new Uint8Array(0), "first");
  for (const character of ["a", "é", "€", "😀"])
    for (const length of [0, 1, 10_911, 10_912, 10_913, 32_736, 32_737, 700_000]) {
      const content = character.repeat(length);
      const expected = createHash("sha256").update(first).update(content).digest("hex");
      assert.equal(hashOf(first, content).toString("hex"), expected, `${length} times ${character}`);
    }
});

test("the hash of an entry stays the same while the next entries are hashed", () => {
  const first = hashOf(new Uint8Array(0), "first");
  const text = first.toString("hex");
  hashOf(first, "second");
  assert.equal(first.toString("hex"), text);
});
