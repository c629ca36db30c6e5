/**
 * The clock, which tests replace, and conversions between times. On the wire and in the database, times are RFC 3339
 * strings in UTC with three fraction digits.
 */
import { create } from "@bufbuild/protobuf";
import { type Duration, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { invalidArgument } from "./errors.ts";

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

export function timestampFromDate(date: Date): Timestamp {
  const ms = date.getTime();
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 });
}

export function dateFromTimestamp(timestamp: Timestamp): Date {
  return new Date(Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000));
}

/** Whether a Timestamp can hold the date: it is valid, and in the years 1 to 9999. */
export function isTime(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** @param round for fractions of a millisecond */
export function millisecondsFromDuration({ seconds, nanos }: Pick<Duration, "seconds" | "nanos">, round = Math.floor): number {
  return Number(seconds) * 1000 + round(nanos / 1_000_000);
}

/** The time as columns store it. @param round for fractions of a millisecond @throws INVALID_ARGUMENT on the field */
export function parseTime(field: string, { seconds, nanos }: Timestamp, round = Math.ceil): string {
  const time = new Date(Number(seconds) * 1000 + round(nanos / 1_000_000));
  // gRPC can carry times that RFC 3339 cannot express.
  if (!isTime(time)) throw invalidArgument(field, `${field} is not a time`);
  return time.toISOString();
}

export function timestampFromText(time: string): Timestamp {
  return timestampFromDate(new Date(time));
}
