/**
 * Rewrites an SQLite file without its unused pages, and so that later unused pages can be released while the server
 * works. New files have been like that from the beginning; files of earlier versions need it once.
 */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Log } from "../lib/log.ts";

/** The value of `pragma auto_vacuum` for files whose unused pages can be released. */
export const INCREMENTAL = 2;
/** The server rewrites a file up to this size at its start, which takes about a second. */
export const MAX_BYTES_AT_START = 64 * 1024 * 1024;

export interface Compaction {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/**
 * Needs as much free space as the file has content, in the folder of the file and again in the folder of temporary files.
 * A crash leaves the file as it was.
 * @throws Error if another process uses the file
 */
export function compactSqlite(path: string): Compaction {
  const bytesBefore = statSync(path).size;
  const database = new DatabaseSync(path, { timeout: 5000 });
  try {
    // Changes from the write-ahead log only reach the file, and shorten it, with a checkpoint.
    database.exec(`pragma auto_vacuum = ${INCREMENTAL}; vacuum; pragma wal_checkpoint(truncate)`);
  } catch (error) {
    throw new Error(`cannot compact ${path}: ${(error as Error).message}`, { cause: error });
  } finally {
    database.close();
  }
  return { bytesBefore, bytesAfter: statSync(path).size };
}

/** Rewrites a small file of an earlier version. Leaves a large one to the operator, who decides when. */
export function compactAtStart(path: string, log: Log): void {
  if (!existsSync(path) || statSync(path).size === 0 || canReleasePages(path)) return;
  if (statSync(path).size > MAX_BYTES_AT_START) {
    log.info("the database file does not shrink after deletions; `holtd compact` changes that while the server is stopped");
    return;
  }
  try {
    compactSqlite(path);
  } catch (error) {
    log.warn({ err: error }, "the database file was not rewritten; the next start tries it again");
  }
}

/** Whether the unused pages of a file can be released while a server works. */
export function canReleasePages(path: string): boolean {
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    return database.prepare("pragma auto_vacuum").get()?.auto_vacuum === INCREMENTAL;
  } catch {
    // The store reports a file that is not a database or cannot be opened.
    return true;
  }
}
