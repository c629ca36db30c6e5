/** The interface of the place that backups are written to. */
import type { Readable } from "node:stream";

/** Whether a command writes backups to a target or only reads them. */
export type TargetUse = "read" | "write";

/** An object of a target. Paths have the characters `A-Z a-z 0-9 . _ - /`. */
export interface StoredObject {
  readonly path: string;
  readonly size: number;
}

export interface BackupTarget extends Disposable {
  /** For messages. */
  readonly name: string;
  /** A folder for temporary files, on the disk of the target; undefined for a target that is not a disk. */
  readonly scratch: string | undefined;
  /** Stores an object. It appears complete and durable, or not at all. Replaces an object of that path. */
  write(path: string, content: Readable): Promise<void>;
  /** @throws NoSuchObject */
  read(path: string): Promise<Readable>;
  /** Undefined if there is no such object. */
  sizeOf(path: string): Promise<number | undefined>;
  /** All objects whose paths begin with the folder and a slash, in any order. */
  list(folder: string): AsyncIterable<StoredObject>;
  /** Does nothing if there is no such object. */
  remove(path: string): Promise<void>;
  /** Removes what interrupted writes below the folder left. No other process may write there. */
  removeLeftovers(folder: string): Promise<void>;
}

export class NoSuchObject extends Error {
  override readonly name = "NoSuchObject";
}
