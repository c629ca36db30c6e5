import assert from "node:assert/strict";
import { test } from "node:test";
import { RE2JS } from "re2js";
import { cpuCost, growth, MAX_LINEAR_GROWTH } from "../../../test/harness/cpu-cost.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { createMatching, matchesPattern, parsePattern } from "./pattern.ts";

test("a pattern must match the whole value", () => {
  for (const [pattern, value, expected] of [
    ["repo:acme/.*", "repo:acme/site:ref:refs/heads/main", true],
    ["acme", "acme-evil", false],
    ["acme", "xacme", false],
    ["a|b", "ab", false],
    ["(?m)^a$", "a\nb", false],
    ["a.b", "a\nb", false],
    ["{%uuid%}:.+", "{%uuid%}:7", true],
    ["", "", true],
    ["", "a", false],
    ["(?i)ACME", "acme", true],
  ] as const) {
    assert.equal(matchesPattern(pattern, value), expected, `${pattern} on ${value}`);
  }
});

test("an invalid or too big pattern is an INVALID_ARGUMENT on its field and matches nothing", () => {
  for (const pattern of [
    "(",
    "(?=a)",
    "(a)\\1",
    "a{1001}",
    "a".repeat(257),
    "(.?.?.?.?){1000}",
    "[z-a]",
    "a{300}",
    "\\pL".repeat(5),
    "(?i)[!-\\x{1e000}]",
  ]) {
    assert.throws(
      () => parsePattern("claim_match.subject_pattern", pattern),
      (error) =>
        error instanceof HoltError &&
        error.code === Code.INVALID_ARGUMENT &&
        error.details.fieldViolations?.[0]?.field === "claim_match.subject_pattern",
      pattern,
    );
    assert.equal(matchesPattern(pattern, "a"), false);
  }
  assert.equal(parsePattern("subject_pattern", "a+").matches("aa"), true);
});

test("a pattern that makes backtracking engines hang is matched at once, and overlong values are not matched", () => {
  assert.equal(matchesPattern("(a+)+b", "a".repeat(512)), false);
  assert.equal(matchesPattern("(?:.?){140}Z", "a".repeat(512)), false);
  assert.equal(matchesPattern(".*", "a".repeat(512)), true);
  assert.equal(matchesPattern(".*", "a".repeat(513)), false);
  for (const pattern of ["(a+)+b", "(?:.?){140}Z"]) {
    const cost = growth(32, (length) => void matchesPattern(pattern, "a".repeat(length)));
    assert.ok(cost < MAX_LINEAR_GROWTH, `${pattern}: ${cost}`);
  }
});

test("realistic patterns are within the size limit", () => {
  for (const [pattern, value] of [
    ["repo:acme/[a-z0-9-]{1,100}:ref:refs/(heads|tags)/.+", "repo:acme/site:ref:refs/heads/main"],
    ["[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "123e4567-e89b-12d3-a456-426614174000"],
    ["(?i)(\\p{L}|\\p{N})+@acme\\.test", "Jörg7@ACME.test"],
    [`${"a".repeat(249)}.{0,10}`, "a".repeat(255)],
  ] as const) {
    assert.equal(matchesPattern(pattern, value), true, pattern);
  }
});

test("big patterns are rejected before they are compiled", () => {
  let i = 0;
  for (const big of [".{999}".repeat(42), `(?i)[${"\\pL".repeat(80)}]`, `(?i)[${"\\x{100}-\\x{10000}".repeat(13)}]`]) {
    // The number keeps the pattern from being found in the cache.
    const rejecting = cpuCost(() => {
      for (const end = i + 100; i < end; i++) assert.equal(matchesPattern(`${big}${i}`, "a"), false);
    });
    const compiling = cpuCost(() => void RE2JS.compile(big));
    assert.ok(rejecting < 10 * compiling, `100 rejections cost ${rejecting} ms, compiling once costs ${compiling} ms`);
  }
});

test("all matches of one token together stay within one budget, however many values and patterns there are", (t) => {
  const made = t.mock.method(RE2JS.prototype, "matches").mock;
  const pattern = ".*a.{250}Z|a+";
  const matches = createMatching();
  const answers = Array.from({ length: 1000 }, () => matches(pattern, "a".repeat(512)));
  assert.deepEqual([answers[0], answers.at(-1)], [true, false]);
  assert.ok(made.callCount() * RE2JS.compile(pattern).programSize() * 513 <= 2_000_000, `${made.callCount()} matches`);
  assert.equal(matches("a", "a"), false);
  assert.equal(createMatching()("a", "a"), true);
});
