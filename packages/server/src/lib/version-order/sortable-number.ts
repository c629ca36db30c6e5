/** Whole numbers of any size as text that sorts as they do. */

/** Longer numbers are greater, so the length comes first, as one character. Beyond this many digits nobody means a number. */
export const MAX_DIGITS = 60;

/** @param digits decimal, at most MAX_DIGITS of them after leading zeros */
export function sortableNumber(digits: string): string {
  const significant = digits.replace(/^0+(?=.)/, "");
  return String.fromCharCode(47 + significant.length) + significant;
}
