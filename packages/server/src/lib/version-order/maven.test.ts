import assert from "node:assert/strict";
import { test } from "node:test";
import { mavenSortKey } from "./maven.ts";

/** Ascending groups of equal versions. Every pair was checked with ComparableVersion of Maven 3.8.7. */
const ORDERED: readonly (readonly string[])[] = [
  ["0"],
  ["r03"],
  ["r09"],
  ["v1"],
  ["0.1"],
  ["1-alpha"],
  ["1.0-alpha-1-SNAPSHOT"],
  ["1-alpha-1", "1.0-alpha1", "1-a1"],
  ["1-beta"],
  ["1-b2"],
  ["1.0-beta-9", "1.0-b9"],
  ["1-m3", "1-milestone-3"],
  ["1-rc"],
  ["1-cr1", "1.0.RC1"],
  ["1-rc2"],
  ["1-snapshot", "1.0-SNAPSHOT"],
  ["1", "1.0", "1-ga", "1-final", "1.0.0.Final", "1.0.0.GA"],
  ["1-sp"],
  ["1-sp1"],
  ["1-sp.1"],
  ["1-abc", "1.abc"],
  ["1.0.0-jre8"],
  ["1.0.0-jre11"],
  ["1.x", "1.0x", "1.0.x"],
  ["1-xyz"],
  ["1-.1"],
  ["1-1", "1.-1"],
  ["1-2"],
  ["1.0.1"],
  ["1..2"],
  ["1.1"],
  ["1.1.0-incubating"],
  ["1.2.3-SNAPSHOT"],
  ["1.2.3"],
  ["1.2.3-20200101.010101-1"],
  ["1.8.0_201"],
  ["2.0.0-M1", "2.0.0.M1"],
  ["2"],
  ["4.1.100.Final"],
  ["10"],
  ["31.1-android"],
  ["31.1-jre"],
  ["2017.12.31"],
  ["20040616"],
];

test("mavenSortKey sorts versions as Maven does", () => {
  const keys = ORDERED.map(([first = ""]) => mavenSortKey(first));
  assert.deepEqual(keys.toSorted(), keys);
  assert.equal(new Set(keys).size, keys.length);
});

test("mavenSortKey gives equal versions the same key", () => {
  for (const equal of ORDERED) assert.equal(new Set(equal.map(mavenSortKey)).size, 1, equal.join(" "));
});

/** Ascending groups of equal versions, in which `ComparableVersion` of Maven 3.8.7 contradicts itself: 1.x-a < 1.RC < 1 < 1.x-a. */
const BY_RULES: readonly (readonly string[])[] = [
  ["1.0.0.M1-SNAPSHOT", "1-m1-snapshot"],
  ["1.RC", "1-RC", "1.0.0.RC"],
  ["1.RC-a", "1-RC-a", "1.RC.a"],
  ["1.RC-1", "1-RC-1", "1.0.0.RC-1", "1-cr-1"],
  ["1"],
  ["1.x", "1-x"],
  ["1.x-a", "1-x-a"],
];

test("mavenSortKey sorts a qualifier after a dot as one after a hyphen, also in front of other parts", () => {
  const keys = BY_RULES.map((equal) => new Set(equal.map(mavenSortKey)));
  for (const [at, key] of keys.entries()) assert.equal(key.size, 1, BY_RULES[at]?.join(" "));
  const each = keys.flatMap((key) => [...key]);
  assert.deepEqual(each.toSorted(), each);
});

test("mavenSortKey returns a key for any text that is no longer than a version may be", () => {
  for (const text of ["", ".", "-", "..", "ü", "1".repeat(255), "1-".repeat(127), "a1".repeat(127), "-".repeat(255)])
    assert.equal(typeof mavenSortKey(text), "string");
});
