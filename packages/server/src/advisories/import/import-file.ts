/** The files that records are read from, and the options of every function that opens them. */
import type { ArchiveLimits } from "../../archives/limits.ts";

export interface ImportFile {
  readonly name: string;
  /** A small file is a buffer, a larger one a stream. */
  readonly content: Buffer | AsyncIterable<Uint8Array>;
  /** The caller named this file itself; it is not one of many in a folder or an archive. */
  readonly isExplicit: boolean;
}

export interface FileContext {
  /** Reports a problem with a file as a whole. */
  report(file: string, reason: string): void;
  /** Counts bytes of the source as read. */
  advance(bytes: number): void;
}

/** Larger files are streams. */
export const SMALL_FILE = 8 * 1024 * 1024;

/** The number of entries is several times that of the largest collections of vulnerabilities. */
export const IMPORT_LIMITS: ArchiveLimits = {
  maxEntries: 3_000_000,
  freeBytes: 256 * 1024 * 1024,
  maxRatio: 100,
  paths: { backslash: "separator" },
};

/** Reason for not reading an entry, in all formats of archives. */
export const ESCAPING_PATH = "its path leads out of the archive; the entry is not read";
