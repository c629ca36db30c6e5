/** Files that records are read from, wherever they are, and what all that open them share. Types, and the limits of archives. */

export interface ImportFile {
  readonly name: string;
  /** Whole where it is small. */
  readonly content: Buffer | AsyncIterable<Uint8Array>;
  /** Whether it was named by itself, and is not one of many in a folder or an archive. */
  readonly isSure: boolean;
}

export interface FileContext {
  /** `position` is empty: it is about the file. */
  report(file: string, reason: string): void;
  /** More bytes of the source are behind us. */
  advance(bytes: number): void;
}

/** Larger ones are streams. */
export const SMALL_FILE = 8 * 1024 * 1024;
/** Several times as many as the largest collections of vulnerabilities have. */
export const MAX_ENTRIES = 3_000_000;
/** Archives that unpack to more than this must not be much smaller themselves. */
const HARMLESS_BYTES = 256 * 1024 * 1024;
const MAX_RATIO = 100;

/** What an archive may unpack to. */
export function maxUnpacked(size: number): number {
  return Math.max(HARMLESS_BYTES, size * MAX_RATIO);
}

export const IS_BOMB = `it unpacks to more than ${MAX_RATIO} times its size; what comes after this is not read`;
