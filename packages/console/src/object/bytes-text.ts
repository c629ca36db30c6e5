/** A number of bytes as people read it. */

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytesText(bytes: bigint | number): string {
  let value = Number(bytes);
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
