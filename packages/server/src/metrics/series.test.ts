import assert from "node:assert/strict";
import { test } from "node:test";
import { BUCKETS, Durations, SeriesByLabels } from "./series.ts";

const create = () => ({ value: 0 });

test("a series is found again by its label values", () => {
  const series = new SeriesByLabels({ code: new Set(["OK", "ABORTED"]), protocol: new Set(["rest"]) }, create);
  assert.equal(series.find(["OK", "rest"]), series.find(["OK", "rest"]));
  assert.notEqual(series.find(["OK", "rest"]), series.find(["ABORTED", "rest"]));
  assert.deepEqual(
    Array.from(series, ({ labels }) => labels),
    [
      { code: "OK", protocol: "rest" },
      { code: "ABORTED", protocol: "rest" },
    ],
  );
});

test("values that a definition does not list share one series, however many they are", () => {
  const series = new SeriesByLabels({ code: new Set(["OK"]) }, create);
  for (let i = 0; i < 1000; i++) series.find([`invented ${i}`]);
  assert.deepEqual(
    Array.from(series, ({ labels }) => labels),
    [{ code: "other" }],
  );
});

test("a label value that is listed later gets a series of its own", () => {
  const values = new Set<string>();
  const series = new SeriesByLabels({ protocol: values }, create);
  series.find(["registry"]).value++;
  values.add("registry");
  series.find(["registry"]).value++;
  assert.deepEqual(
    Array.from(series, ({ labels, series: { value } }) => [labels.protocol, value]),
    [
      ["other", 1],
      ["registry", 1],
    ],
  );
});

test("a metric without labels has its series from the start", () => {
  const series = new SeriesByLabels({}, create);
  assert.deepEqual([...series], [{ labels: {}, series: series.find([]) }]);
});

test("durations are counted in the first bucket whose bound they do not exceed", () => {
  const durations = new Durations();
  for (const seconds of [0, BUCKETS[0], 0.0006, 31]) durations.observe(seconds);
  assert.deepEqual([durations.counts[0], durations.counts[1], durations.counts.at(-1)], [2, 1, 1]);
});
