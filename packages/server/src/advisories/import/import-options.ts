/** What an import takes and tells: where the records are, how far it is, what was wrong with some, and what became of all. Types alone. */
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RecordReader } from "./record-reader.ts";

/** One record, or one file, that was left out; the rest is imported. */
export interface ImportProblem {
  /** Path of the file; within an archive `archive.zip!path/in/it.json`. */
  readonly file: string;
  /** `line 12`, a JSON pointer such as `/advisories/3/events/0`, or the empty string for the file as a whole. */
  readonly position: string;
  /** What is wrong, for people, on one line. */
  readonly reason: string;
}

/** What became of the records of a batch; those that are neither created, updated nor refused were known. */
export interface BatchOutcome {
  readonly created: number;
  readonly updated: number;
  readonly refused: readonly ImportProblem[];
}

export interface ImportProgress {
  /** Of the source's bytes, packed as they are. */
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  /** Records so far that are stored. */
  readonly read: number;
  readonly problems: number;
}

export interface ImportResult {
  /** Records that could be read: advisories, each of one package, or vulnerabilities. The sum of the next three. */
  readonly read: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Files in folders and archives that hold nothing like records, such as a README. */
  readonly ignored: number;
  /** How often `onProblem` was called. */
  readonly problems: number;
}

export interface ImportOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly kind: "advisories" | "vulnerabilities";
  /** Uid of the group that the advisories belong to; the empty string for vulnerabilities, which belong to nobody. */
  readonly parent: string;
  /** Whether new events are approved at once; PENDING otherwise. */
  readonly approves: boolean;
  /** Whether a record that its source withdrew deletes its advisory; a problem otherwise. */
  readonly mayDelete: boolean;
  /** Whom new advisories and events name as author, whoever wrote the source. */
  readonly actor: string;
  /** Of a file or a folder on disk. */
  readonly path: string;
  readonly reader: RecordReader;
  /** Records of one transaction; 500 where it is left out. On the embedded store nobody else has the process meanwhile. */
  readonly batchSize?: number;
  /** Called after each batch that is stored, several times a second. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called for each; nothing of them is kept. */
  readonly onProblem: (problem: ImportProblem) => void;
  /** What was stored before stays; the import rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}
