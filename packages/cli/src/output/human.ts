/** Values as people read them. Pure. */

export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** `7d`, `1h30m` or `90s` in seconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)];
  const seconds = parts.reduce((sum, [, count, unit = "s"]) => sum + Number(count) * (UNITS[unit] ?? 1), 0);
  // 1.1 hours are 3960.0000000000005 seconds in binary, and the API accepts nine digits.
  return Math.round(seconds * 1e6) / 1e6;
}

/** A column's title: `CREATE TIME` for `createTime`. */
export function titleOf(field: string): string {
  return field
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[._]/g, " ")
    .toUpperCase();
}
