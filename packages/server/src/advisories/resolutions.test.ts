import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type AdvisoryEvent, AdvisoryEventSchema, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { timestampFromText } from "../lib/clock.ts";
import { parseResolutions, resolutionsFrom, resolutionsText } from "./resolutions.ts";

const time = (day: number) => `2026-03-${String(day).padStart(2, "0")}T00:00:00.000Z`;
function event(
  day: number,
  type: AdvisoryEvent["type"]["case"],
  version = "",
  status: ReviewStatus = ReviewStatus.APPROVED,
): AdvisoryEvent {
  const value = type === "fixed" ? { fixedVersion: version } : {};
  return create(AdvisoryEventSchema, { timestamp: timestampFromText(time(day)), type: { case: type, value } as never, status });
}

describe("the text of resolutions", () => {
  it("has approved fixes and the first false positive, and gives them back in the order of time", () => {
    const text = resolutionsText([
      event(1, "detection"),
      event(2, "fixed", "1", ReviewStatus.PENDING),
      event(3, "fixed", 'a"b'),
      event(4, "falsePositiveDetermination"),
      event(5, "falsePositiveDetermination"),
      event(6, "fixed", "2"),
    ]);
    assert.deepEqual(parseResolutions(text), [
      { time: time(3), version: 'a"b' },
      { time: time(4), version: undefined },
      { time: time(6), version: "2" },
    ]);
    assert.equal(resolutionsText([event(1, "truePositiveDetermination")]), "");
  });

  it("compares as its latest time does", () => {
    const text = resolutionsText([event(3, "fixed", "1"), event(5, "fixed", "2")]);
    for (const [day, isFrom] of [
      [4, true],
      [5, true],
      [6, false],
    ] as const)
      assert.equal(text >= resolutionsFrom(time(day)), isFrom, String(day));
  });

  it("is never too long for an index, and keeps the latest", () => {
    const many = Array.from({ length: 28 }, (_, index) =>
      event(index + 1, index === 0 ? "falsePositiveDetermination" : "fixed", `${index}-${"é".repeat(20)}`),
    );
    const text = resolutionsText(many);
    assert.ok(Buffer.byteLength(text) <= 610, String(Buffer.byteLength(text)));
    const kept = parseResolutions(text);
    assert.deepEqual([kept[0]?.time, kept[0]?.version, kept.at(-1)?.time], [time(1), undefined, time(28)]);
    assert.ok(kept.length > 5 && kept.length < 12);
    assert.equal(resolutionsText([event(1, "fixed", "x".repeat(1000))]), "");
  });
});
