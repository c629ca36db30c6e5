/** Tables for people. On a terminal they fit its width; elsewhere nothing is cut. */
import { paint } from "../terminal/color.ts";
import { shownText } from "./cell.ts";
import type { Column, Row } from "./output.ts";

export interface TableOptions {
  readonly isWide: boolean;
  /** The number of columns unless the table is wide; undefined for as many as fit. */
  readonly narrow?: number | undefined;
}

const GAP = "  ";
const MIN_WIDTH = 12;

export function table(rows: readonly Row[], columns: readonly Column[], { isWide, narrow }: TableOptions): string {
  const used = columns.slice(0, isWide ? undefined : narrow).filter((column) => isWide || rows.some((row) => shownText(column.value(row))));
  const cells = rows.map((row) => used.map(({ value }) => shownText(value(row))));
  const widths = used.map(({ title }, index) => Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)));
  const fitting = isWide ? widths : fit(widths, terminalWidth());
  const lineOf = (line: readonly string[]) =>
    fitting
      .map((width, index) => pad(line[index] ?? "", width))
      .join(GAP)
      .trimEnd();
  const head = lineOf(used.map(({ title }) => title));
  return [paint("bold", head), ...cells.map(lineOf), ""].join("\n");
}

/** One resource, a field per line. */
export function details(row: Row, columns: readonly Column[], { isWide }: Pick<TableOptions, "isWide">): string {
  const shown = columns.map(({ title, value }) => [title, shownText(value(row))] as const).filter(([, text]) => isWide || text !== "");
  const width = Math.max(0, ...shown.map(([title]) => title.length));
  return shown.map(([title, text]) => `${paint("bold", title.padEnd(width))}${GAP}${text}\n`).join("");
}

/** Shrinks the widest columns, and drops the last ones if that is not enough. */
function fit(widths: readonly number[], available: number): number[] {
  const fitting = [...widths];
  const total = () => fitting.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  while (total() > available) {
    const widest = Math.max(...fitting);
    if (widest > MIN_WIDTH && fitting.length * (MIN_WIDTH + GAP.length) <= available) fitting[fitting.indexOf(widest)] = widest - 1;
    else if (fitting.length > 1) fitting.pop();
    else break;
  }
  return fitting;
}

function pad(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text.padEnd(width);
}

function terminalWidth(): number {
  return process.stdout.isTTY ? (process.stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
}
