/** Writes the database of a running server into a snapshot. */
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { createZstdCompress } from "node:zlib";
import { type BlobReference, cacheReferences, contentReferences } from "../blobs/references.ts";
import { type PostgresReader, readPostgres } from "../db/postgres-copy.ts";
import { pinSqlite, problemsOfSqlite, readSqlite } from "../db/sqlite-copy.ts";
import { pipeThrough } from "../lib/pipe-through.ts";
import type { ListedBlob, Snapshot, SnapshotWriter } from "./snapshot.ts";

/** A blob that the copied database knows. */
export interface KnownBlob extends ListedBlob {
  /** Whether content refers to it. Blobs that nothing refers to may be collected at any time. */
  readonly isReferenced: boolean;
}

export interface CopiedDatabase {
  readonly database: Snapshot["database"];
  readonly schema: number;
  readonly blobs: readonly KnownBlob[];
}

export interface DatabaseSource {
  /** @param options.scratch path of a temporary file, which an interrupted backup may have left */
  copyTo(writer: SnapshotWriter, options: { readonly scratch: string; onProgress(part: number): void }): Promise<CopiedDatabase>;
}

const SCHEMA = "select max(version) as version from schema_migration";
export const SQLITE_FILE = "holt.db";

export function rowsFile(table: string): string {
  return `rows/${table}.copy.zst`;
}

/** @param path the server's database file */
export function createSqliteSource(path: string, references: readonly BlobReference[]): DatabaseSource {
  return {
    async copyTo(writer, { scratch, onProgress }) {
      await removeSqlite(scratch);
      try {
        {
          using pinned = pinSqlite(path);
          await pinned.copyTo(scratch, onProgress);
        }
        const [problem] = problemsOfSqlite(scratch);
        if (problem !== undefined) throw new Error(`the database is damaged (${problem}); restore an earlier backup`);
        await writer.write(SQLITE_FILE, createReadStream(scratch));
        const tables = [...readSqlite<{ name: string }>(scratch, "select name from sqlite_schema where type = 'table'")].map(
          ({ name }) => name,
        );
        const blobs = [...readSqlite<BlobRow>(scratch, blobQuery(references, tables))].map(knownBlob);
        const [schema] = readSqlite<{ version: number }>(scratch, SCHEMA);
        return { database: { kind: "sqlite" }, schema: schema?.version ?? 0, blobs };
      } finally {
        await removeSqlite(scratch);
      }
    },
  };
}

async function removeSqlite(path: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) await rm(path + suffix, { force: true });
}

export function createPostgresSource(url: string, references: readonly BlobReference[]): DatabaseSource {
  return { copyTo: (writer, { onProgress }) => readPostgres(url, (reader) => copyTables(reader, { writer, references, onProgress })) };
}

interface TableCopy {
  readonly writer: SnapshotWriter;
  readonly references: readonly BlobReference[];
  onProgress(part: number): void;
}

async function copyTables(reader: PostgresReader, { writer, references, onProgress }: TableCopy): Promise<CopiedDatabase> {
  const tables = await reader.tables();
  const names = tables.map(({ name }) => name);
  const blobs = (await reader.query<BlobRow>(blobQuery(references, names))).map(knownBlob);
  const [schema] = await reader.query<{ version: number }>(SCHEMA);
  for (const [index, table] of tables.entries()) {
    onProgress(index / tables.length);
    await writer.write(rowsFile(table.name), pipeThrough(reader.rows(table), createZstdCompress()));
  }
  return { database: { kind: "postgres", tables, sequences: await reader.sequences() }, schema: schema?.version ?? 0, blobs };
}

interface BlobRow {
  readonly digest: string;
  readonly size: number | string;
  readonly referenced: number | boolean;
}

/** All blobs but those of caches. The database may have the schema of an earlier program, which lacks tables. */
function blobQuery(references: readonly BlobReference[], tables: readonly string[]): string {
  const known = references.filter(({ table }) => tables.includes(table));
  const anyOf = (some: readonly BlobReference[]) =>
    some.map(({ table, column }) => `exists (select 1 from "${table}" where "${column}" = blob.digest)`).join(" or ");
  const referenced = anyOf(contentReferences(known)) || "true";
  return `select digest, size, referenced from (
    select digest, size, (${referenced}) as referenced, (${anyOf(cacheReferences(known)) || "false"}) as cached from blob) as b
    where referenced or not cached order by digest`;
}

function knownBlob({ digest, size, referenced }: BlobRow): KnownBlob {
  return { digest, size: Number(size), isReferenced: Boolean(referenced) };
}
