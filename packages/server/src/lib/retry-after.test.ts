import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRetryAfter } from "./retry-after.ts";

const now = new Date("2030-01-10T00:00:00.000Z");

test("Retry-After is a number of seconds or a date, is capped at a day, and is ignored where it is not valid", () => {
  const parse = (value: string | string[] | undefined) => parseRetryAfter(value, now);
  assert.equal(parse("120"), 120_000);
  assert.equal(parse("Thu, 10 Jan 2030 00:01:00 GMT"), 60_000);
  assert.equal(parse("999999999"), 86_400_000);
  assert.equal(parse("Thu, 10 Jan 2099 00:00:00 GMT"), 86_400_000);
  for (const value of [undefined, "", "0", "-5", "soon", "1.5", "1e3", "Thu, 10 Jan 2020 00:00:00 GMT", ["1", "2"], "9".repeat(400)])
    assert.equal(parse(value), 0, String(value));
});
