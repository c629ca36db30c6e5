/** Days of UTC, as numbers that count from 1970-01-01: what reports of days are made for. Pure. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { parseTime } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_DAYS = 366;

/** Both are in it. */
export interface DayRange {
  readonly first: number;
  readonly last: number;
}

/** How a version of the API calls the two ends of a range. */
export interface RangeFields {
  readonly start: string;
  readonly end: string;
}

/** @throws INVALID_ARGUMENT on the field that is wrong */
export function parseDayRange(start: Timestamp | undefined, end: Timestamp | undefined, fields: RangeFields): DayRange {
  const first = parseDay(fields.start, start);
  const last = parseDay(fields.end, end);
  if (first > last) throw invalidArgument(fields.start, `${fields.start} must not be after ${fields.end}`);
  if (last - first >= MAX_DAYS) throw invalidArgument(fields.end, `a report is about at most ${MAX_DAYS} days: ask several times`);
  return { first, last };
}

/** The validator fills in what is missing, so the beginning of time stands for nothing at all. */
function parseDay(field: string, time: Timestamp | undefined): number {
  if (time === undefined || (time.seconds === 0n && time.nanos === 0)) throw invalidArgument(field, `${field} is required`);
  parseTime(field, time);
  return Math.floor((Number(time.seconds) * 1000) / DAY_MS);
}

/** As columns have times. */
export function startOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString();
}

/** Of a time as columns have it. */
export function dayOfTime(time: string): number {
  return Math.floor(Date.parse(time) / DAY_MS);
}
