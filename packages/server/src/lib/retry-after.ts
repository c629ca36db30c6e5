/** The Retry-After header of an answer, RFC 9110 §10.2.3. */

const MAX_MS = 24 * 3_600_000;

/** @returns milliseconds from now, at most a day; 0 where the header is missing or not valid */
export function parseRetryAfter(value: string | string[] | undefined, now: Date): number {
  if (typeof value !== "string") return 0;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return ms > 0 ? Math.min(ms, MAX_MS) : 0;
}
