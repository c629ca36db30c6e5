import assert from "node:assert/strict";
import { test } from "node:test";
import { growth, MAX_LINEAR_GROWTH } from "../../test/harness/cpu-cost.ts";
import { matchesPattern, patternFault } from "./repository-patterns.ts";

const matches = (path: string, pattern: string) => matchesPattern(path.split("/"), pattern);

test("a pattern matches paths segment by segment", () => {
  for (const [pattern, path] of [
    ["api", "api"],
    ["shop/api", "shop/api"],
    ["shop/*", "shop/api"],
    ["*/api", "shop/api"],
    ["api*", "api"],
    ["api*", "api-old"],
    ["*-old", "api-old"],
    ["a*b*c", "a-b-c"],
    ["a*a", "aa"],
    ["**", "api"],
    ["**", "shop/api"],
    ["shop/**", "shop/inner/api"],
    ["*/inner/**", "shop/inner/deep/api"],
  ] as const)
    assert.equal(matches(path, pattern), true, `${pattern} ${path}`);
});

test("a pattern matches no other paths", () => {
  for (const [pattern, path] of [
    ["api", "api-old"],
    ["api", "shop/api"],
    ["shop/*", "shop"],
    ["shop/*", "shop/inner/api"],
    ["*", "shop/api"],
    ["shop/**", "shop"],
    ["shop/**", "shopping/api"],
    ["a*a", "a"],
    ["ab*bc", "abc"],
    ["a*b*c", "a-c-b"],
  ] as const)
    assert.equal(matches(path, pattern), false, `${pattern} ${path}`);
});

test("only relative paths of image names with asterisks are patterns", () => {
  for (const pattern of ["api", "a/b", "*", "**", "a/**", "a-*.b_c"]) assert.equal(patternFault(pattern), undefined, pattern);
  for (const pattern of ["", "/", "/a", "a/", "a//b", "**/a", "a**", "a/b**", "A", "a b", "a:b", "a".repeat(256)])
    assert.notEqual(patternFault(pattern), undefined, pattern);
});

test("matching takes time linear in the name", () => {
  const pattern = `${"a*".repeat(60)}b`;
  const cost = growth(4000, (size) => matchesPattern(["a".repeat(size)], pattern));
  assert.ok(cost < MAX_LINEAR_GROWTH, `grew by ${cost}`);
});
