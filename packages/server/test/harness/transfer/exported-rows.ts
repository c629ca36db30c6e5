/** Reads the files of an export, and compares two exports of one organization. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { organizationTables } from "../../../src/domains.ts";
import type { Cell, ExportedOrganization } from "../../../src/transfer/export-format.ts";
import { isCarried } from "../../../src/transfer/organization-tables.ts";

/** The files of an export by their names, uncompressed, except the blobs. */
export async function textsIn(folder: string): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const name of await readdir(folder, { recursive: true })) {
    if (name.endsWith(".zst")) texts.set(name, zstdDecompressSync(await readFile(join(folder, name))).toString());
    else if (/\.(json|txt)$/.test(name)) texts.set(name, await readFile(join(folder, name), "utf8"));
  }
  return texts;
}

export type Row = Readonly<Record<string, Cell>>;
/** The rows of an export, by the name of their table. */
export type Exported = ReadonlyMap<string, readonly Row[]>;

export async function rowsIn(folder: string): Promise<Exported> {
  const texts = await textsIn(folder);
  const { tables } = JSON.parse(texts.get("organization.json") ?? "") as ExportedOrganization;
  return new Map(
    tables.map(({ name, columns, files }) => {
      const lines = files.flatMap(({ path }) => (texts.get(path) ?? "").split("\n").filter((line) => line !== ""));
      return [name, lines.map((line) => Object.fromEntries((JSON.parse(line) as Cell[]).map((cell, at) => [columns[at], cell])))];
    }),
  );
}

/** The columns in which the database numbers rows. */
const NUMBERED: Readonly<Record<string, string>> = {
  audit_entry: "seq",
  event_context: "id",
  matched_image: "id",
  matched_package: "id",
  outbox: "seq",
  tag_history: "seq",
};

/** Asserts that all rows are the same, but for numbers that each server assigns, positions of events, and the seals of secrets. */
export function assertSameRows(actual: Exported, expected: Exported): void {
  const [a, b] = [normalized(actual), normalized(expected)];
  for (const [table, rows] of b) assert.deepEqual(a.get(table), rows, `the rows of ${table} differ`);
  assert.deepEqual([...a.keys()], [...b.keys()]);
}

function normalized(tables: Exported): Map<string, Row[]> {
  const places = new Map<string, Map<Cell, number>>();
  for (const [table, column] of Object.entries(NUMBERED))
    places.set(table, new Map((tables.get(table) ?? []).map((row, at) => [row[column] ?? null, at])));
  const positions = ["outbox", "delivery"].flatMap((table) => (tables.get(table) ?? []).flatMap(({ position }) => position ?? []));
  const first = Math.min(...positions.map(Number));
  return new Map(
    [...tables].map(([table, rows]) => {
      const ownership = organizationTables[table];
      if (ownership === undefined || !isCarried(ownership)) throw new Error(`${table} is not carried`);
      const { rowNumbers = {}, position, secret } = ownership;
      return [
        table,
        rows.map((row) => {
          const changed: Record<string, Cell> = { ...row };
          const numbered = NUMBERED[table];
          if (numbered !== undefined) delete changed[numbered];
          for (const [column, other] of Object.entries(rowNumbers)) changed[column] = places.get(other)?.get(row[column] ?? null) ?? null;
          if (position !== undefined && row[position] !== null) changed[position] = Number(row[position]) - first;
          if (secret !== undefined) changed[secret.column] = row[secret.column] ? "a secret" : "";
          return changed;
        }),
      ];
    }),
  );
}
