import assert from "node:assert/strict";
import { test } from "node:test";
import { gramsOf, rarestGramOf } from "./grams.ts";

test("gramsOf returns each three-character substring of a name once, in lower case", () => {
  assert.deepEqual(gramsOf("NumPy"), ["num", "ump", "mpy"]);
  assert.deepEqual(gramsOf("aaaaa"), ["aaa"]);
  assert.deepEqual([gramsOf("ab"), gramsOf("")], [[], []]);
  assert.deepEqual(gramsOf("Papa", 2), ["pa", "ap"]);
});

test("rarestGramOf returns the rarest substring of a search text, regardless of case", () => {
  assert.equal(rarestGramOf("test-xyz"), "xyz");
  assert.equal(rarestGramOf("TEST-XYZ"), rarestGramOf("test-xyz"));
  assert.equal(rarestGramOf("ab"), undefined);
});
