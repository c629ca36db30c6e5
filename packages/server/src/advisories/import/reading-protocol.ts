/** The messages between the reading thread and the import, and how far the thread can read ahead. */
import type { EncodedRecords } from "./encoded-records.ts";
import type { ImportOptions, ImportProblem } from "./import-options.ts";
import type { ReadOptions } from "./read-records.ts";

export interface ReadingJob
  extends Pick<ReadOptions, "path" | "kind" | "now" | "limits">,
    Pick<ImportOptions, "parent" | "actor" | "approves" | "mayDelete"> {
  /** Records per batch. */
  readonly batchSize: number;
}

/** Records that are read and written together. */
export interface EncodedBatch {
  /**
   * Advisories, or a JSON array of `Located` for vulnerabilities. Encoding and decoding JSON takes half the time of cloning
   * objects between threads.
   */
  readonly records: EncodedRecords | string;
  readonly problems: readonly ImportProblem[];
  /** Bytes of the source that were read for the batch, before decompression. */
  readonly bytes: number;
  /** Files that contain nothing like records. */
  readonly ignored: number;
}

/** The reply to a batch. */
export type Taken = "taken";

/** Batches that wait for the import. */
export const MAX_PENDING_BATCHES = 4;
