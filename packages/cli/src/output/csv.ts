/** CSV as RFC 4180 describes it, with a line of titles. Pure. */
import { textOf } from "./cell.ts";
import type { Column, Row } from "./output.ts";

export function csv(rows: readonly Row[], columns: readonly Column[]): string {
  const lines = rows.map((row) => columns.map(({ value }) => quoted(rawText(value(row)))));
  return [columns.map(({ title }) => quoted(title.toLowerCase().replaceAll(" ", "_"))), ...lines]
    .map((line) => `${line.join(",")}\r\n`)
    .join("");
}

function rawText(value: unknown): string {
  return typeof value === "boolean" || typeof value === "number" ? String(value) : withoutFormula(textOf(value));
}

/** A leading quote keeps spreadsheets from taking a text for a formula. */
function withoutFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
