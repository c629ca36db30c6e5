/** Formats RFC 3339 times in UTC with three fraction digits, several times as fast as Date.prototype.toISOString. */

const DAY_MS = 86_400_000;
const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, "0"));

/** @param ms Unix milliseconds, an integer in the years 1 to 9999 */
export function rfc3339(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  const inDay = ms - day * DAY_MS;
  const seconds = Math.floor(inDay / 1000);
  const minutes = Math.floor(seconds / 60);
  return `${dateOf(day)}T${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}.${threeDigits(inDay % 1000)}Z`;
}

function threeDigits(number: number): string {
  return `${Math.floor(number / 100)}${TWO_DIGITS[number % 100]}`;
}

let lastDay = Number.NaN;
let lastDate = "";

/** Remembers the last day, because successive times tend to fall on the same day. */
function dateOf(day: number): string {
  if (day === lastDay) return lastDate;
  lastDay = day;
  lastDate = civilDate(day);
  return lastDate;
}

/**
 * Implements civil_from_days of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Years begin in March, so
 * that the leap day comes last; an era is 400 years.
 */
function civilDate(day: number): string {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const date = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${TWO_DIGITS[Math.floor(year / 100)]}${TWO_DIGITS[year % 100]}-${TWO_DIGITS[month]}-${TWO_DIGITS[date]}`;
}
