/** Which times the API accepts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isTime, parseTime, timestampFromDate } from "./clock.ts";

test("a time is in the years 1 to 9999", () => {
  for (const text of ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"]) {
    assert.ok(isTime(new Date(text)), text);
    assert.equal(parseTime("t", timestampFromDate(new Date(text))), new Date(text).toISOString());
  }
  for (const text of ["0000-12-31T23:59:59.999Z", "+010000-01-01T00:00:00Z", "-000001-01-01T00:00:00Z"]) {
    assert.ok(!isTime(new Date(text)), text);
    assert.throws(() => parseTime("t", timestampFromDate(new Date(text))), { message: /t is not a time/ });
  }
  assert.ok(!isTime(new Date("x")));
});
