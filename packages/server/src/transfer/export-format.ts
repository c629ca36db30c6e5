/**
 * The form of an exported organization. A target has its blobs, as a backup has them; for each table a folder of files with
 * one row per line, as a JSON array of the columns; the list of blobs; and `organization.json`, which is written last and
 * makes the export complete. README.md describes the values.
 */
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { hashing, type ListedBlob, type SnapshotFile } from "../backup/snapshot.ts";
import { type BackupTarget, NoSuchObject } from "../backup/target.ts";

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
    files.push(await writeFile(target, path, compressed(Readable.from(lines()))));
  }
  return { name: table, columns, rows: count, files };
}

function compressed(source: Readable): Readable {
  const stream = createZstdCompress();
  source.on("error", (error) => stream.destroy(error));
  return source.pipe(stream);
}

/** @returns the file with the hash of the bytes that were written */
export async function writeFile(target: BackupTarget, path: string, content: Readable): Promise<SnapshotFile> {
  const hash = createHash("sha256");
  const meter = hashing(hash);
  content.on("error", (error) => meter.stream.destroy(error));
  await target.write(path, content.pipe(meter.stream));
  return { path, size: meter.size(), sha256: hash.digest("hex") };
}

/** The rows of a file, which must have been verified. */
export async function* readRows(target: BackupTarget, { path }: SnapshotFile): AsyncIterable<Cell[]> {
  const source = await target.read(path);
  const input = createZstdDecompress();
  source.on("error", (error) => input.destroy(error));
  for await (const line of createInterface({ input: source.pipe(input) })) yield JSON.parse(line) as Cell[];
}

/** Reads files again. @throws Error for the operator if one has changed */
export async function verifyExport(target: BackupTarget, { tables, blobs }: Pick<ExportedOrganization, "tables" | "blobs">): Promise<void> {
  for (const { path, size, sha256 } of [...tables.flatMap(({ files }) => files), blobs.file]) {
    const hash = createHash("sha256");
    const meter = hashing(hash);
    for await (const _ of (await target.read(path)).pipe(meter.stream));
    if (meter.size() !== size || hash.digest("hex") !== sha256) throw new Error(`the file ${path} of the export is damaged`);
  }
}

export async function* readBlobs(target: BackupTarget): AsyncIterable<ListedBlob> {
  for await (const line of createInterface({ input: await target.read(BLOB_LIST) })) {
    const [digest = "", size] = line.split(" ");
    if (digest !== "") yield { digest, size: Number(size) };
  }
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
