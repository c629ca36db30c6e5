/** Follows the write-ahead log of a server: which transactions it has, since when, and which of them are archived. */
import type { FileHandle } from "node:fs/promises";
import {
  countToLastCommit,
  findLastCommit,
  frameBytes,
  logsBetween,
  readFrames,
  readWalHeader,
  type WalHeader,
  type WalPosition,
} from "../../db/wal-file.ts";
import type { Commit, Segment } from "./archive-form.ts";
import type { ArchiveTime } from "./archive-time.ts";

/** Another log has replaced the one that was read, so frames may be lost. */
export class LogReplaced extends Error {
  override readonly message = "another process has replaced the write-ahead log";
}

export class WalReader {
  readonly #file: FileHandle;
  readonly #time: ArchiveTime;
  #header: WalHeader;
  /** After the last transaction that was seen. */
  #seen: WalPosition;
  #taken: WalPosition;
  /** Transactions after `#taken`. */
  #commits: Commit[] = [];

  /** @param position in the log of the header */
  constructor(file: FileHandle, time: ArchiveTime, start: { readonly header: WalHeader; readonly position: WalPosition }) {
    this.#file = file;
    this.#time = time;
    this.#header = start.header;
    this.#seen = start.position;
    this.#taken = start.position;
  }

  /** Begins after the last transaction of the log. */
  static async atEnd(file: FileHandle, time: ArchiveTime, header: WalHeader): Promise<WalReader> {
    return new WalReader(file, time, { header, position: await findLastCommit(file, header, header.start) });
  }

  get header(): WalHeader {
    return this.#header;
  }

  get seen(): WalPosition {
    return this.#seen;
  }

  /** Time of the oldest transaction that was not taken. */
  get oldestTime(): number | undefined {
    return this.#commits[0]?.time;
  }

  /** Number of the last frame that was taken. */
  get takenFrame(): number {
    return this.#taken.frame;
  }

  get untakenBytes(): number {
    return (this.#seen.frame - this.#taken.frame) * frameBytes(this.#header);
  }

  get bytes(): number {
    return this.#seen.frame * frameBytes(this.#header);
  }

  /** Looks for new transactions. @throws LogReplaced */
  async look(): Promise<void> {
    const header = await readWalHeader(this.#file);
    if (header?.start.salt !== this.#seen.salt) throw new LogReplaced();
    const from = this.#seen;
    const last = await findLastCommit(this.#file, header, from);
    // A concurrent look may have been faster.
    if (last.frame <= this.#seen.frame || last.salt !== this.#seen.salt) return;
    this.#seen = last;
    this.#commits.push({ frame: last.frame, time: this.#time.now() });
  }

  /** The next frames that were not taken; undefined if there are none. They are taken once `taken` is called with them. */
  async next(maxBytes: number): Promise<Segment | undefined> {
    const size = frameBytes(this.#header);
    const from = this.#taken;
    const last = Math.min(this.#seen.frame, from.frame + Math.max(1, Math.floor(maxBytes / size)));
    if (last === from.frame) return undefined;
    const frames = await readFrames(this.#file, this.#header, from.frame, last);
    const sums = frames.length - size + 16;
    const to = { salt: from.salt, frame: last, checksum: [frames.readUInt32BE(sums), frames.readUInt32BE(sums + 4)] as const };
    const { pageSize } = this.#header;
    return { pageSize, from, to, commits: this.#commitsUntil(last, frames), frames };
  }

  /**
   * The transactions that end within the frames. Transactions that were seen together have one time, and only the last of
   * them is known. If the frames end before it, the last one that they hold stands for it, so that the archive can restore
   * it.
   */
  #commitsUntil(last: number, frames: Buffer): Commit[] {
    const commits = this.#commits.filter(({ frame }) => frame <= last);
    const next = this.#commits[commits.length];
    if (next === undefined) return commits;
    const frame = this.#taken.frame + countToLastCommit(frames, this.#header);
    return frame > (commits.at(-1)?.frame ?? this.#taken.frame) ? [...commits, { frame, time: next.time }] : commits;
  }

  taken({ to }: Segment): void {
    this.#taken = to;
    this.#commits = this.#commits.filter(({ frame }) => frame > to.frame);
  }

  /**
   * Continues with the log that replaced this one, if one did. Another process may have begun it.
   * @returns whether it did
   * @throws LogReplaced if frames in between may be lost
   */
  async follow(): Promise<boolean> {
    const header = await readWalHeader(this.#file);
    const logs = header && logsBetween(this.#seen.salt, header.start.salt);
    if (logs === 0) return false;
    // The file keeps the end of the old log, unless it was longer than the limit of its size.
    const { frame } = await findLastCommit(this.#file, this.#header, this.#seen);
    if (header === undefined || logs !== 1 || frame !== this.#seen.frame) throw new LogReplaced();
    this.#header = header;
    this.#seen = header.start;
    this.#taken = header.start;
    this.#commits = [];
    return true;
  }
}
