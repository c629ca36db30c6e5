/** Prints the results of a benchmark as a Markdown table. */

export interface Line {
  readonly measured: string;
  readonly store: string;
  readonly figure: string;
  /** The target and whether it is met. Both are absent for a figure without a target. */
  readonly target?: string;
  readonly holds?: boolean;
}

export function printLines(lines: readonly Line[]): void {
  const rows = [
    ["measured", "store", "figure", "target", ""],
    ...lines.map(({ measured, store, figure, target = "", holds }) => [measured, store, figure, target, verdict(holds)]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const [i, row] of rows.entries()) {
    console.log(`| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`);
    if (i === 0) console.log(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  }
}

function verdict(holds: boolean | undefined): string {
  if (holds === undefined) return "";
  return holds ? "holds" : "MISSED";
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** A number with three significant digits. */
export function short(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
