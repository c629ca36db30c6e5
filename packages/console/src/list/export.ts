/** Exports all pages of a list as CSV or JSON. */

import { type DescMessage, type Message, toJson } from "@bufbuild/protobuf";
import { callUnaryMethod } from "@connectrpc/connect-query";
import { transport } from "../session/transport.ts";
import type { Column } from "./columns.ts";
import { type ListSource, MAX_PAGE_SIZE, type Page, pageRequest } from "./list-method.ts";

export type ExportFormat = "csv" | "json";

export interface ExportOptions<Item> {
  readonly format: ExportFormat;
  readonly orderBy: string;
  /** Columns of the CSV file. */
  readonly columns: readonly Column<Item>[];
  /** Message of the items, for the JSON file. */
  readonly schema: DescMessage;
  readonly signal: AbortSignal;
  readonly onProgress: (count: number) => void;
}

/** @throws ConnectError CANCELLED after an abort */
export async function exportList<Request extends DescMessage, Answer extends DescMessage, Item extends Message>(
  { method, request, itemsOf }: ListSource<Request, Answer, Item>,
  { format, orderBy, columns, schema, signal, onProgress }: ExportOptions<Item>,
): Promise<Blob> {
  const parts: string[] = format === "csv" ? [csvLine(columns.map(({ title }) => title))] : [];
  let pageToken = "";
  let count = 0;
  do {
    const page = await callUnaryMethod(transport, method, pageRequest(request, { pageToken, pageSize: MAX_PAGE_SIZE, orderBy }), {
      signal,
    });
    const items = itemsOf(page);
    for (const item of items)
      parts.push(format === "csv" ? csvLine(columns.map(({ text }) => text(item))) : JSON.stringify(toJson(schema, item)));
    count += items.length;
    onProgress(count);
    ({ nextPageToken: pageToken } = page as unknown as Page);
  } while (pageToken !== "");
  if (format === "csv") return new Blob(parts, { type: "text/csv" });
  return new Blob(["[\n", parts.join(",\n"), "\n]\n"], { type: "application/json" });
}

/** RFC 4180. A leading quote keeps spreadsheets from taking a text for a formula. */
function csvLine(values: readonly string[]): string {
  const safe = values.map((value) => (/^[=+\-@\t\r]/.test(value) ? `'${value}` : value));
  return `${safe.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(",")}\r\n`;
}

export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the file after this task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
