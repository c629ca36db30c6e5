/** Whole numbers of any size, written in decimal digits, in order. */

/** @param a digits, also with leading zeros or none at all, which is 0 */
export function compareNumerals(a: string, b: string): number {
  const [left, right] = [withoutLeadingZeros(a), withoutLeadingZeros(b)];
  return left.length - right.length || compareTexts(left, right);
}

/** By code units: for what is ASCII, as bytes are compared. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function withoutLeadingZeros(digits: string): string {
  let start = 0;
  while (digits[start] === "0") start++;
  return digits.slice(start);
}
