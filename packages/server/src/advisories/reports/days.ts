/** Counts days of UTC from 1970-01-01, and parses the range of days of a report. Pure. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { parseTime } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_DAYS = 366;

/** Both ends are included. */
export interface DayRange {
  readonly first: number;
  readonly last: number;
}

/** The names of the two fields in a version of the API. */
export interface RangeFields {
  readonly start: string;
  readonly end: string;
}

/** @throws INVALID_ARGUMENT with the name of the invalid field */
export function parseDayRange(start: Timestamp | undefined, end: Timestamp | undefined, fields: RangeFields): DayRange {
  const first = parseDay(fields.start, start);
  const last = parseDay(fields.end, end);
  if (first > last) throw invalidArgument(fields.start, `${fields.start} must not be after ${fields.end}`);
  if (last - first >= MAX_DAYS) throw invalidArgument(fields.end, `a report covers at most ${MAX_DAYS} days; request several reports`);
  return { first, last };
}

/** The validator replaces a missing time by the epoch, so the epoch counts as missing. */
function parseDay(field: string, time: Timestamp | undefined): number {
  if (time === undefined || (time.seconds === 0n && time.nanos === 0)) throw invalidArgument(field, `${field} is required`);
  parseTime(field, time);
  return Math.floor((Number(time.seconds) * 1000) / DAY_MS);
}

/** In the format of time columns. */
export function startOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString();
}

/** @param time in the format of time columns */
export function dayOfTime(time: string): number {
  return Math.floor(Date.parse(time) / DAY_MS);
}
