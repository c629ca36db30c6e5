/** What a reading thread and the import say to each other. Types, and how far the thread may be ahead. */
import type { ImportOptions, ImportProblem } from "./import-options.ts";
import type { ReadOptions } from "./read-records.ts";

export interface ReadingJob
  extends Pick<ReadOptions, "path" | "kind" | "now" | "limits">,
    Pick<ImportOptions, "parent" | "actor" | "approves" | "mayDelete"> {
  /** Records of a piece: it is written in one transaction. */
  readonly batchSize: number;
}

/** What is read and written together. */
export interface Piece {
  /**
   * A JSON array: of `PreparedRecord` where advisories are read, or of `Placed`. To write and to read such a text takes half the time that cloning
   * objects does.
   */
  readonly records: string;
  readonly problems: readonly ImportProblem[];
  /** Of the source's, packed as they are, that were read for it. */
  readonly bytes: number;
  /** Files that hold nothing like records. */
  readonly ignored: number;
}

/** To a piece: it was taken. */
export type Taken = "taken";

/** Pieces that wait to be taken. */
export const MAX_WAITING = 4;
