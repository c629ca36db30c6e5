/** The options, the progress, the problems and the result of an import. Types only. */
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RecordReader } from "./record-reader.ts";

/** A record or file that is skipped. The rest is imported. */
export interface ImportProblem {
  /** The path of the file. In an archive, `archive.zip!path/in/it.json`. */
  readonly file: string;
  /** `line 12`, a JSON pointer such as `/advisories/3/events/0`, or empty for the file as a whole. */
  readonly position: string;
  /** One line for the user. */
  readonly reason: string;
}

/** The outcome of a batch. Records that are neither created, updated nor refused were known already. */
export interface BatchOutcome {
  readonly created: number;
  readonly updated: number;
  readonly refused: readonly ImportProblem[];
}

export interface ImportProgress {
  /** Bytes of the source that were read, before decompression. */
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  /** Records that are stored. */
  readonly read: number;
  readonly problems: number;
}

export interface ImportResult {
  /** Usable records: advisories of one package each, or vulnerabilities. The sum of the next three numbers. */
  readonly read: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Files in folders and archives that contain nothing like records, such as a README. */
  readonly ignored: number;
  /** The number of calls of `onProblem`. */
  readonly problems: number;
}

export interface ImportOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly kind: "advisories" | "vulnerabilities";
  /** The uid of the group that gets the advisories. Empty for vulnerabilities, which belong to no group. */
  readonly parent: string;
  /** Whether new events are APPROVED instead of PENDING. */
  readonly approves: boolean;
  /** Whether a withdrawn record deletes its advisory. Otherwise it is a problem. */
  readonly mayDelete: boolean;
  /** The author of new advisories and events. */
  readonly actor: string;
  /** The path of a file or a folder. */
  readonly path: string;
  readonly reader: RecordReader;
  /** Records that are read together, 500 by default. On the embedded store a transaction blocks the process. */
  readonly batchSize?: number;
  /** Batches that are written in one transaction, one by default. */
  readonly batchesPerTransaction?: number;
  /** Called after each stored batch, several times a second. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called for each problem. The import keeps none of them. */
  readonly onProblem: (problem: ImportProblem) => void;
  /** Stops the import, which rejects with the signal's reason. Stored records stay. */
  readonly signal?: AbortSignal | undefined;
}
