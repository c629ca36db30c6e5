/** Parses the days of a count, with defaults. Pure. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromText } from "../../../lib/clock.ts";
import { type DayRange, parseDayRange, startOfDay } from "../../reports/days.ts";

const DEFAULT_DAYS = 30;

interface DayOptions {
  readonly now: Date;
  /** Names of the fields. */
  readonly start: string;
  readonly end: string;
}

/** Today and the 29 days before it, or before the last day. @throws INVALID_ARGUMENT */
export function parseOptionalDays(start: Timestamp | undefined, end: Timestamp | undefined, { now, ...fields }: DayOptions): DayRange {
  const last = end ?? timestampFromText(now.toISOString());
  const { last: lastDay } = parseDayRange(last, last, { start: fields.end, end: fields.end });
  return parseDayRange(start ?? timestampFromText(startOfDay(lastDay - DEFAULT_DAYS + 1)), last, fields);
}
