/** Decides when SCIM tokens expire, and how long a replaced one stays usable. */
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { dateFromTimestamp, millisecondsFromDuration } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";
import type { ScimTokenTable } from "../tables.ts";

const DEFAULT_LIFE_YEARS = 1;
const MAX_LIFE_YEARS = 2;
export const DEFAULT_OVERLAP_MS = 60 * 60 * 1000;
const MAX_OVERLAP_MS = 24 * 60 * 60 * 1000;

/** In the form of the column; null for a token that never expires. */
export function expiryOf(expireTime: Timestamp | undefined, neverExpires: boolean, now: Date): string | null {
  if (neverExpires && expireTime !== undefined)
    throw invalidArgument("never_expires", "expire_time and never_expires cannot be given together");
  if (neverExpires) return null;
  if (expireTime === undefined) return yearsFrom(now, DEFAULT_LIFE_YEARS).toISOString();
  const date = dateFromTimestamp(expireTime);
  if (Number.isNaN(date.getTime())) throw invalidArgument("expire_time", "expire_time must be a valid time");
  if (date <= now) throw invalidArgument("expire_time", "expire_time must be in the future");
  if (date > yearsFrom(now, MAX_LIFE_YEARS))
    throw invalidArgument(
      "expire_time",
      `expire_time must be at most ${MAX_LIFE_YEARS} years from now; use never_expires for a token without an expiration`,
    );
  return date.toISOString();
}

function yearsFrom(now: Date, years: number): Date {
  const date = new Date(now);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date;
}

/** In milliseconds, at most a day. */
export function overlapOf(overlap: Duration | undefined): number {
  if (overlap === undefined) return DEFAULT_OVERLAP_MS;
  const ms = millisecondsFromDuration(overlap);
  if (Number.isNaN(ms) || ms < 0) throw invalidArgument("overlap", "overlap must not be negative");
  return Math.min(ms, MAX_OVERLAP_MS);
}

/** When the replaced token ends: after the overlap, or earlier if it expires earlier. */
export function endOf({ expire_time }: ScimTokenTable, overlapMs: number, now: Date): string {
  const end = new Date(now.getTime() + overlapMs).toISOString();
  return expire_time !== null && expire_time < end ? expire_time : end;
}
