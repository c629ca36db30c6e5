import assert from "node:assert/strict";
import { test } from "node:test";
import { compileTypeFilter, isTypePattern } from "./type-filter.ts";

const TYPE = "dev.holt.api.iam.group.created.v1";

test("a subscription without types receives every event", () => {
  assert.ok(compileTypeFilter([], "dev.holt")(TYPE));
});

test("a type matches with and without the prefix, and a pattern matches all types below it", () => {
  for (const pattern of [TYPE, "api.iam.group.created.v1", "api.iam.*", "dev.holt.api.*", "api.iam.group.created.*"])
    assert.ok(compileTypeFilter(["registry.push.v1", pattern], "dev.holt")(TYPE), pattern);
  for (const pattern of ["api.iam.group.created", "iam.group.created.v1", "api.ia.*", "api.iam.group.created.v1.*", "registry.push.v1"])
    assert.ok(!compileTypeFilter([pattern], "dev.holt")(TYPE), pattern);
});

test("only types and patterns that end with a part .* are accepted", () => {
  for (const good of ["registry.push.v1", "api.iam.*", "api.iam.external_group_role_mappings.created.v1"])
    assert.ok(isTypePattern(good), good);
  for (const bad of ["", "*", ".*", "api.*.created.v1", "api.iam*", "api..iam", "API.iam", "a b", `a.${"b".repeat(200)}`])
    assert.ok(!isTypePattern(bad), bad);
});
