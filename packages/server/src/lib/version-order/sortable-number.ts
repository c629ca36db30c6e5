/** Writes integers as strings that sort in numeric order. */

/** The number of digits is encoded as one character. Longer digit strings are not treated as numbers. */
export const MAX_DIGITS = 60;

/** @param digits decimal, at most MAX_DIGITS digits after leading zeros */
export function sortableNumber(digits: string): string {
  const significant = digits.startsWith("0") ? digits.replace(/^0+(?=.)/, "") : digits;
  return String.fromCharCode(47 + significant.length) + significant;
}
