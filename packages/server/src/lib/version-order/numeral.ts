/** Compares non-negative integers of any size, written in decimal digits. */

/** Both parameters may have leading zeros; an empty string counts as 0. */
export function compareNumerals(a: string, b: string): number {
  const left = withoutLeadingZeros(a);
  const right = withoutLeadingZeros(b);
  return left.length - right.length || compareTexts(left, right);
}

/** Compares by UTF-16 code units, which is byte order for ASCII. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function withoutLeadingZeros(digits: string): string {
  let start = 0;
  while (digits[start] === "0") start++;
  return digits.slice(start);
}
