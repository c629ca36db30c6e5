import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type AdvisoryEvent, AdvisoryEventSchema, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { encodeResolutions, parseResolutions, resolutionsLowerBound, VERSIONLESS_LENGTH, withoutLatestTime } from "./resolutions.ts";

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

describe("encoded resolutions", () => {
  it("encoded resolutions have approved fixes and the first false positive, and decode to them, the latest first", () => {
    const text = encodeResolutions([
      event(1, "detection"),
      event(2, "fixed", "1", ReviewStatus.PENDING),
      event(3, "fixed", 'a"b'),
      event(4, "falsePositiveDetermination"),
      event(5, "falsePositiveDetermination"),
      event(6, "fixed", "2"),
    ]);
    assert.deepEqual(parseResolutions(text), [[time(6), "2"], [time(4)], [time(3), 'a"b']]);
    assert.equal(encodeResolutions([event(1, "truePositiveDetermination")]), "");
  });

  it("compare as their latest times do", () => {
    const text = encodeResolutions([event(3, "fixed", "1"), event(5, "fixed", "2")]);
    for (const [day, isFrom] of [
      [4, true],
      [5, true],
      [6, false],
    ] as const)
      assert.equal(text >= resolutionsLowerBound(time(day)), isFrom, String(day));
  });

  it("encoded resolutions are equal except for the latest time if the versions are equal, and shortest without versions", () => {
    const text = (day: number, ...versions: string[]) => encodeResolutions(versions.map((version) => event(day, "fixed", version)));
    assert.equal(withoutLatestTime(text(1, "1")), withoutLatestTime(text(2, "1")));
    assert.notEqual(withoutLatestTime(text(1, "1")), withoutLatestTime(text(1, "2")));
    assert.equal(encodeResolutions([event(1, "falsePositiveDetermination")]).length, VERSIONLESS_LENGTH);
    assert.ok(text(1, "").length > VERSIONLESS_LENGTH);
  });

  it("encoded resolutions are short enough for an index, and keep the latest resolutions", () => {
    const many = Array.from({ length: 28 }, (_, index) =>
      event(index + 1, index === 0 ? "falsePositiveDetermination" : "fixed", `${index}-${"é".repeat(20)}`),
    );
    const text = encodeResolutions(many);
    assert.ok(Buffer.byteLength(text) <= 610, String(Buffer.byteLength(text)));
    const kept = parseResolutions(text);
    assert.deepEqual([kept[0]?.[0], kept.at(-1)], [time(28), [time(1)]]);
    assert.ok(kept.length > 5 && kept.length < 12);
    assert.equal(encodeResolutions([event(1, "fixed", "x".repeat(1000))]), "");
  });
});
