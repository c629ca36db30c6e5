import assert from "node:assert/strict";
import { test } from "node:test";
import { suffixesOf } from "../../../test/harness/advisories/suffixes.ts";
import fc from "../../../test/harness/property.ts";
import { suffixRangeOf } from "./search-terms.ts";

test("a term has one suffix from each of its characters on, without duplicates", () => {
  assert.deepEqual(suffixesOf("curl"), ["curl", "url", "rl", "l"]);
  assert.deepEqual(suffixesOf("aaaa"), ["aaaa", "aaa", "aa", "a"]);
  assert.deepEqual(suffixesOf("x😀y"), ["x😀y", "😀y", "y"]);
  assert.equal(suffixesOf("ab".repeat(100)).length, 33, "equal suffixes of a long repetitive term occur once");
});

test("exactly the terms that contain a string have a suffix in its range, if the string fits into a suffix", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "-", "é", "😀"), minLength: 1, maxLength: 40 });
  const inByteOrder = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  fc.assert(
    fc.property(letters, letters, (term, text) => {
      const { lower, upper, isExact } = suffixRangeOf(text);
      const isFound = suffixesOf(term).some((suffix) => inByteOrder(suffix, lower) >= 0 && inByteOrder(suffix, upper) < 0);
      assert.equal(isExact, [...text].length <= 32);
      if (isExact) assert.equal(isFound, term.includes(text));
      else if (term.includes(text)) assert.ok(isFound);
    }),
  );
});
