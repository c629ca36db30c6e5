import assert from "node:assert/strict";
import { test } from "node:test";
import { gramsOf, rarestGramOf } from "./grams.ts";

test("a name is known by all its parts of three characters, in lower case, each once", () => {
  assert.deepEqual(gramsOf("NumPy"), ["num", "ump", "mpy"]);
  assert.deepEqual(gramsOf("aaaaa"), ["aaa"]);
  assert.deepEqual([gramsOf("ab"), gramsOf("")], [[], []]);
  assert.deepEqual(gramsOf("Papa", 2), ["pa", "ap"]);
});

test("a text is looked for by its rarest part, whatever its case", () => {
  assert.equal(rarestGramOf("test-xyz"), "xyz");
  assert.equal(rarestGramOf("TEST-XYZ"), rarestGramOf("test-xyz"));
  assert.equal(rarestGramOf("ab"), undefined);
});
