/** Writes a feed's file and its index, and computes the SHA-256 of the file. It does not depend on formats. */
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { type IndexEntry, indexLine } from "./feed-index.ts";

const BUFFER_BYTES = 256 * 1024;

/** The bytes of consecutive entries in a feed's file. */
export interface EntryRange {
  readonly start: number;
  /** In bytes, including the separators between entries. */
  readonly length: number;
}

export class FeedWriter {
  readonly #data: FileHandle;
  readonly #indexFile: FileHandle;
  readonly #separator: Buffer;
  readonly #hash = createHash("sha256");
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lines = "";
  #position = 0;
  /** Entries that have content. */
  entries = 0;
  advisories = 0;
  /** The latest change of any entry, RFC 3339. */
  newest = "";

  constructor(data: FileHandle, index: FileHandle, separator: string) {
    this.#data = data;
    this.#indexFile = index;
    this.#separator = Buffer.from(separator);
  }

  get position(): number {
    return this.#position;
  }

  async write(bytes: Buffer): Promise<void> {
    this.#hash.update(bytes);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#position += bytes.length;
    if (this.#waitingBytes >= BUFFER_BYTES) await this.#flush();
  }

  async append(entry: IndexEntry, bytes: Buffer): Promise<void> {
    if (entry.length > 0) {
      if (this.entries > 0 && this.#separator.length > 0) await this.write(this.#separator);
      await this.write(bytes);
    }
    await this.index(entry);
  }

  /** Adds an entry to the index without writing its bytes, which are copied with `copy`. */
  async index(entry: IndexEntry): Promise<void> {
    if (entry.length > 0) {
      this.entries++;
      if (entry.time > this.newest) this.newest = entry.time;
    }
    this.advisories += entry.uids.length;
    this.#lines += indexLine(entry);
    if (this.#lines.length >= BUFFER_BYTES) await this.flushIndex();
  }

  /** @param isFirst whether no entry precedes the range */
  async copy(from: FileHandle, { start, length }: EntryRange, isFirst: boolean): Promise<void> {
    if (!isFirst && this.#separator.length > 0) await this.write(this.#separator);
    for (let at = start; at < start + length; ) {
      const buffer = Buffer.allocUnsafe(Math.min(BUFFER_BYTES, start + length - at));
      const { bytesRead } = await from.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) throw new Error("the feed's file is shorter than its index says");
      at += bytesRead;
      await this.write(buffer.subarray(0, bytesRead));
    }
  }

  /** Writes the buffered lines of the index. */
  async flushIndex(): Promise<void> {
    const lines = this.#lines;
    this.#lines = "";
    if (lines !== "") await this.#indexFile.writeFile(lines);
  }

  /** Writes everything that is buffered. @returns SHA-256 of the file, base64url */
  async end(): Promise<string> {
    await this.#flush();
    await this.flushIndex();
    return this.#hash.digest("base64url");
  }

  async #flush(): Promise<void> {
    const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    if (bytes.length > 0) await this.#data.writeFile(bytes);
  }
}
