/**
 * The form of an exported organization. A target has its blobs, as a backup has them; for each table a folder of files with
 * one row per line, as a JSON array of the columns; the list of blobs; and `organization.json`, which is written last and
 * makes the export complete. README.md describes the values.
 */
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { isIntact, type SnapshotFile, writeHashed } from "../backup/snapshot.ts";
import { type BackupTarget, NoSuchObject } from "../backup/target.ts";
import { linesIn } from "../lib/lines-in.ts";
import { pipeThrough } from "../lib/pipe-through.ts";

export const FORMAT = 1;
export const MANIFEST = "organization.json";
/** Names the organization while its export is not complete. */
export const UNFINISHED = "unfinished.json";
export const ROWS = "rows";
export const BLOB_LIST = "blobs.txt";

/** A value of a row. Bytes are in base64. */
export type Cell = string | number | null;

export interface ExportedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  readonly files: readonly SnapshotFile[];
}

export interface ExportedOrganization {
  readonly format: typeof FORMAT;
  /** Version of the program that wrote the export. */
  readonly version: string;
  /** Number of migrations that the database has. */
  readonly schema: number;
  readonly time: string;
  readonly organization: { readonly uid: string; readonly name: string };
  /** Base URL of the server that it comes from. */
  readonly baseUrl: string;
  readonly secrets: {
    /** Distinguishes secrets keys, without revealing them. Empty if the server had none. */
    readonly fingerprint: string;
    /** The key of the sealed values, sealed with the passphrase; null if secrets were left out. */
    readonly key: string | null;
    /** Number of secrets that were left out, by their kind. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  readonly tables: readonly ExportedTable[];
  /** The first and the last position in the feed of events; null without events. */
  readonly positions: { readonly first: number; readonly last: number } | null;
  readonly blobs: { readonly count: number; readonly bytes: number; readonly file: SnapshotFile };
}

/** Uncompressed bytes after which a table's next file begins. */
const FILE_BYTES = 16 * 1024 * 1024;

/** Writes the rows of a table. */
export async function writeRows(
  target: BackupTarget,
  table: string,
  columns: readonly string[],
  rows: AsyncIterable<readonly Cell[]>,
): Promise<ExportedTable> {
  const files: SnapshotFile[] = [];
  const source = rows[Symbol.asyncIterator]();
  let count = 0;
  for (let next = await source.next(); !next.done; ) {
    const path = `${ROWS}/${table}/${String(files.length + 1).padStart(6, "0")}.jsonl.zst`;
    async function* lines() {
      for (let bytes = 0; !next.done && bytes < FILE_BYTES; next = await source.next()) {
        const line = Buffer.from(`${JSON.stringify(next.value)}\n`);
        bytes += line.length;
        count++;
        yield line;
      }
    }
    files.push(await writeHashed(target, path, pipeThrough(Readable.from(lines()), createZstdCompress())));
  }
  return { name: table, columns, rows: count, files };
}

/** The rows of a file, which must have been verified. */
export async function* readRows(target: BackupTarget, { path }: SnapshotFile): AsyncIterable<Cell[]> {
  const input = pipeThrough(await target.read(path), createZstdDecompress());
  for await (const line of linesIn(input)) yield JSON.parse(line) as Cell[];
}

/** Reads files again. @throws Error for the operator if one has changed */
export async function verifyExport(target: BackupTarget, { tables, blobs }: Pick<ExportedOrganization, "tables" | "blobs">): Promise<void> {
  for (const file of [...tables.flatMap(({ files }) => files), blobs.file])
    if (!(await isIntact(target, file))) throw new Error(`the file ${file.path} of the export is damaged`);
}

/** Undefined if there is no such file. */
export async function readJson<T>(target: BackupTarget, path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await text(await target.read(path))) as T;
  } catch (error) {
    if (error instanceof NoSuchObject) return undefined;
    throw error;
  }
}

export function writeJson(target: BackupTarget, path: string, value: unknown): Promise<void> {
  return target.write(path, Readable.from([Buffer.from(`${JSON.stringify(value, null, 2)}\n`)]));
}
