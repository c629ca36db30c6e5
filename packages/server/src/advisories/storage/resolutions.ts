/** When approved events said that an advisory is resolved, and where: what the column `resolutions` holds. Pure. */
import { type AdvisoryEvent, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";

/** When, and from which version on; without a version the advisory does not apply to any. */
export type Resolution = readonly [time: string, version?: string];

/** Indexes have room for no more. An advisory that is fixed in dozens of versions is known by the latest of them. */
const MAX_BYTES = 600;

/** Latest first, so that texts compare as their latest times do. The empty string for none. @param events in the order of time */
export function resolutionsText(events: readonly AdvisoryEvent[]): string {
  const approved = events.filter(({ status }) => status === ReviewStatus.APPROVED);
  const firstFalse = approved.find(({ type }) => type.case === "falsePositiveDetermination");
  const kept: string[] = [];
  // What applies to all versions matters most.
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
  if (timestamp === undefined) throw new Error("an event without its time");
  const time = dateFromTimestamp(timestamp).toISOString();
  return JSON.stringify(type.case === "fixed" ? [time, type.value.fixedVersion] : [time]);
}

/** Some such text whose latest time this is; none with an earlier one is greater. */
export function resolutionsFrom(time: string): string {
  return `[["${time}`;
}

const LATEST = resolutionsFrom("2026-03-01T00:00:00.000Z").length + 1;
/** Of a text that says of no version that it has a fix, but that none is affected; every other text is longer. */
export const VERSIONLESS_LENGTH = LATEST + "]]".length;

/** What is left without the latest time. */
export function withoutLatestTime(text: string): string {
  return text.slice(LATEST);
}

/** The latest first. */
export function parseResolutions(text: string): readonly Resolution[] {
  return JSON.parse(text) as readonly Resolution[];
}
