/** Prints results in the format that the caller chose. Formats other than table and wide are stable: programs read them. */
import { usageFailure } from "../failure.ts";
import { csv } from "./csv.ts";
import { titleOf } from "./human.ts";
import { details, table } from "./table.ts";
import { tree } from "./tree.ts";

export type Format = "table" | "wide" | "json" | "yaml" | "csv" | "name" | "tree";
const formats: readonly Format[] = ["table", "wide", "json", "yaml", "csv", "name", "tree"];

/** A result as JSON. */
export type Row = Readonly<Record<string, unknown>>;

export interface Column {
  readonly title: string;
  readonly value: (row: Row) => unknown;
}

export interface View {
  /** Names of fields, dotted for nested ones, or computed columns. All are in the formats wide and csv. */
  readonly columns: readonly (string | Column)[];
  /** The number of columns in the format table; default: as many as fit. */
  readonly narrow?: number;
  /** The value for the format name; default: the field uid, id or name. */
  readonly name?: (row: Row) => string;
}

export interface Output {
  readonly format: Format;
  /** Prints a list. */
  rows(rows: readonly Row[], view: View): Promise<void>;
  /** Prints one resource. */
  row(row: Row, view: View): Promise<void>;
  /** Prints any JSON value; a string as it is in formats for people. */
  value(value: unknown): Promise<void>;
  /** Prints a line for people. Programs, which ask for json, yaml, csv or name, do not get it. */
  say(text: string): void;
}

export function createOutput(format: Format): Output {
  const isForPeople = format === "table" || format === "wide" || format === "tree";
  const print = (text: string) => void process.stdout.write(text.endsWith("\n") || text === "" ? text : `${text}\n`);

  async function structured(value: unknown): Promise<void> {
    if (format === "yaml") print((await import("yaml")).stringify(value));
    else print(JSON.stringify(value, null, 2));
  }

  return {
    format,
    async rows(rows, view) {
      const columns = columnsOf(view);
      if (format === "json" || format === "yaml") return structured(rows);
      if (format === "csv") return print(csv(rows, columns));
      if (format === "name") return print(rows.map((row) => `${nameOf(row, view)}\n`).join(""));
      if (format === "tree") return print(tree(rows));
      if (rows.length === 0) return void process.stderr.write("No results.\n");
      print(table(rows, columns, { isWide: format === "wide", narrow: view.narrow }));
    },
    async row(row, view) {
      if (format === "json" || format === "yaml") return structured(row);
      if (format === "csv") return print(csv([row], columnsOf(view)));
      if (format === "name") return print(nameOf(row, view));
      print(details(row, columnsOf(view), { isWide: format === "wide" }));
    },
    async value(value) {
      if (isForPeople && typeof value === "string") return print(value);
      await structured(value);
    },
    say(text) {
      if (isForPeople) process.stdout.write(`${text}\n`);
    },
  };
}

export function parseFormat(text: string | undefined): Format {
  if (text === undefined) return "table";
  if ((formats as readonly string[]).includes(text)) return text as Format;
  throw usageFailure(`there is no output format "${text}"`, `use one of ${formats.join(", ")}`);
}

function columnsOf({ columns }: View): Column[] {
  return columns.map((column) =>
    typeof column === "string" ? { title: titleOf(column), value: (row: Row) => fieldOf(row, column) } : column,
  );
}

/** The value of a dotted field. */
export function fieldOf(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row);
}

function nameOf(row: Row, { name }: View): string {
  return name?.(row) ?? String(row.uid ?? row.id ?? row.name ?? "");
}
