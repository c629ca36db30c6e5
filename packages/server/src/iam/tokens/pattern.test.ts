import assert from "node:assert/strict";
import { test } from "node:test";
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
  const start = performance.now();
  assert.equal(matchesPattern("(a+)+b", "a".repeat(512)), false);
  assert.equal(matchesPattern("(?:.?){140}Z", "a".repeat(512)), false);
  assert.equal(matchesPattern(".*", "a".repeat(512)), true);
  assert.equal(matchesPattern(".*", "a".repeat(513)), false);
  assert.ok(performance.now() - start < 200);
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
  const start = performance.now();
  for (let i = 0; i < 500; i++) {
    const refused = [`${".{999}".repeat(42)}${i}`, `(?i)[${"\\pL".repeat(80)}]${i}`, `(?i)[${"\\x{100}-\\x{10000}".repeat(13)}]${i}`];
    for (const pattern of refused) assert.equal(matchesPattern(pattern, "a"), false);
  }
  assert.ok(performance.now() - start < 1000);
});

test("all matches of one token together stay within one budget, however many values and patterns there are", () => {
  const matches = createMatching();
  const start = performance.now();
  const answers = Array.from({ length: 1000 }, () => matches(".*a.{250}Z|a+", "a".repeat(512)));
  assert.deepEqual([answers[0], answers.at(-1)], [true, false]);
  assert.equal(matches("a", "a"), false);
  assert.equal(createMatching()("a", "a"), true);
  assert.ok(performance.now() - start < 500);
});
