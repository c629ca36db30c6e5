/** Encodes when approved events resolved an advisory, and in which versions: the column `resolutions`. Pure. */
import { type AdvisoryEvent, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";

/** The time of the event and the first version without the vulnerability. Without a version, no version is affected. */
export type Resolution = readonly [time: string, version?: string];

/** The size of an index entry is limited. An advisory with dozens of fixed versions keeps the latest of them. */
const MAX_BYTES = 600;

/**
 * A JSON array, latest first, so that the encodings sort by their latest time. The empty string if nothing is resolved.
 * @param events in the order of time
 */
export function encodeResolutions(events: readonly AdvisoryEvent[]): string {
  const approved = events.filter(({ status }) => status === ReviewStatus.APPROVED);
  const firstFalse = approved.find(({ type }) => type.case === "falsePositiveDetermination");
  const kept: string[] = [];
  // Reserve room for the false positive, as it applies to all versions.
  let left = MAX_BYTES - (firstFalse === undefined ? 0 : entryOf(firstFalse).length);
  for (const event of approved.toReversed()) {
    if (event !== firstFalse && event.type.case !== "fixed") continue;
    const entry = entryOf(event);
    left -= event === firstFalse ? 0 : Buffer.byteLength(entry) + 1;
    if (left >= 0 || event === firstFalse) kept.push(entry);
  }
  return kept.length === 0 ? "" : `[${kept.join(",")}]`;
}

function entryOf({ timestamp, type }: AdvisoryEvent): string {
  if (timestamp === undefined) throw new Error("the event has no time");
  const time = dateFromTimestamp(timestamp).toISOString();
  return JSON.stringify(type.case === "fixed" ? [time, type.value.fixedVersion] : [time]);
}

/** A lower bound of all encodings whose latest time is `time` or later; all others sort before it. */
export function resolutionsLowerBound(time: string): string {
  return `[["${time}`;
}

const LATEST_LENGTH = resolutionsLowerBound("2026-03-01T00:00:00.000Z").length + 1;
/** Length of the encoding of a single false positive. Every other encoding is longer. */
export const VERSIONLESS_LENGTH = LATEST_LENGTH + "]]".length;

/** Encodings that differ only in their latest time are the same without it. */
export function withoutLatestTime(text: string): string {
  return text.slice(LATEST_LENGTH);
}

/** The latest resolution first. */
export function parseResolutions(text: string): readonly Resolution[] {
  return JSON.parse(text) as readonly Resolution[];
}
