import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatSeconds, parseDuration } from "../output/human.ts";
import { parseTime } from "./parse-value.ts";

test("durations have units, and may be combined", () => {
  const given = ["90s", "12h", "7d", "1h30m", "250ms", "1.5h", "7", "d", "-1d", ""];
  assert.deepEqual(given.map(parseDuration), [90, 43_200, 604_800, 5400, 0.25, 5400, undefined, undefined, undefined, undefined]);
});

test("a fraction of a duration has no more digits than the API accepts", () => {
  assert.deepEqual(["1.1h", "2.3d", "100ms200ms"].map(parseDuration), [3960, 198_720, 0.3]);
});

test("times are RFC 3339, dates, or relative to now", () => {
  const now = new Date("2026-01-31T12:00:00Z");
  const time = (text: string) => parseTime({ name: "since" }, text, now);
  assert.equal(time("now"), "2026-01-31T12:00:00.000Z");
  assert.equal(time("1d ago"), "2026-01-30T12:00:00.000Z");
  assert.equal(time("in 12h"), "2026-02-01T00:00:00.000Z");
  assert.equal(time("2026-01-01"), "2026-01-01T00:00:00.000Z");
  for (const wrong of ["yesterday", "1d", "2026-13-01", "12"]) assert.throws(() => time(wrong), /--since: .* must be a time/);
});

test("bytes and seconds are rounded for people", () => {
  assert.deepEqual([0, 999, 1500, 250_000_000].map(formatBytes), ["0 B", "999 B", "1.5 kB", "250 MB"]);
  assert.deepEqual([0.4, 61, 7200].map(formatSeconds), ["1 s", "1 min 1 s", "2 h 0 min"]);
});
