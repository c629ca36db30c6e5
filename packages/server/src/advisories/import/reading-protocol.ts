/** What a reading thread and the import say to each other. Types, and how far the thread may be ahead. */
import type { ImportProblem } from "./import-options.ts";
import type { ReadOptions } from "./read-records.ts";

export type ReadingJob = Pick<ReadOptions, "path" | "kind" | "now" | "limits">;

/** A piece of what is read. */
export interface Piece {
  /** A JSON array of `Placed`: to write and to read such a text takes half the time that cloning objects does. */
  readonly records: string;
  readonly problems: readonly ImportProblem[];
  /** Of the source's, that were read for it. */
  readonly bytes: number;
  readonly ignored: number;
}

/** To a piece: it was taken. */
export type Taken = "taken";

/** Pieces that wait to be taken. */
export const MAX_WAITING = 4;
