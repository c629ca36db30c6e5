import assert from "node:assert/strict";
import { test } from "node:test";
import { gramsOf } from "./grams.ts";

test("gramsOf returns each three-character substring of a name once, in lower case", () => {
  assert.deepEqual(gramsOf("NumPy"), ["num", "ump", "mpy"]);
  assert.deepEqual(gramsOf("aaaaa"), ["aaa"]);
  assert.deepEqual([gramsOf("ab"), gramsOf("")], [[], []]);
  assert.deepEqual(gramsOf("Papa", 2), ["pa", "ap"]);
});
