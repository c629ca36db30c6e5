import assert from "node:assert/strict";
import { test } from "node:test";
import { RE2JS } from "re2js";
import fc from "../../../test/harness/property.ts";
import { estimatePatternSize } from "./pattern-size.ts";

const PARTS = [
  ..."aé𝒳.()|*+?^$[]-",
  ...["\\pL", "\\p{Greek}", "[a-z]", "[^\\pL\\d]", "[]a]", "[[:alpha:]-x]", "\\d", "(?:", "(?P<n>", "(?i)", "(?s:"],
  ...["{3}", "{2,5}", "{4,}", "{0}", "{x}", "{,3}", "\\Qab(\\E", "\\x{41}", "\\b", "\\(", "\\]", "[(]"],
];

test("no pattern compiles to much more than its estimated size", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      let actual = 0;
      try {
        actual = RE2JS.compile(text).programSize();
      } catch {
        // Not a pattern, so it cannot compile to too much.
      }
      assert.ok(actual <= 1.5 * estimatePatternSize(text).instructions + 6, text);
    }),
    { numRuns: 20_000 },
  );
});

test("repetitions multiply the estimated size, also through groups and behind flags", () => {
  const size = (text: string) => estimatePatternSize(text).instructions;
  assert.deepEqual([size("abc"), size("[a-c{9}]"), size("a{7}"), size("a{2,7}"), size("\\Qa{7}\\E")], [3, 1, 7, 14, 9]);
  for (const text of [".{1000}".repeat(3), "(?:a{31}){31}", "((a{10}){10}){10}", "a{30}(?i){30}", "(?:(?:[a-z]?){30}){30}"])
    assert.ok(size(text) >= 900, text);
});

test("Unicode classes and case-folded ranges are found anywhere in a pattern", () => {
  assert.equal(estimatePatternSize("\\pL\\P{Greek}[\\pN\\PL]\\\\pL").unicodeClasses, 4);
  for (const text of ["(?i)[\\x{100}-\\x{10000}]", "(?si:[a\\x{0}-é])", "(?i)[[:digit:]--é]"])
    assert.ok(estimatePatternSize(text).foldsWideRange, text);
  for (const text of ["[\\x{100}-\\x{10000}]", "(?i)[a-z\\x2d]", "(?i)saint-étienne", "(?i)[é]"])
    assert.ok(!estimatePatternSize(text).foldsWideRange, text);
});
