/** Writes a feed's file and its index, and takes the sum of what it writes. Knows no formats. */
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { type IndexEntry, indexLine } from "./feed-index.ts";

const BUFFER = 256 * 1024;

/** Entries in the file of a feed, one after the other. */
export interface Run {
  readonly start: number;
  /** With the separators between them. */
  readonly length: number;
}

export class FeedWriter {
  readonly #data: FileHandle;
  readonly #index: FileHandle;
  readonly #separator: Buffer;
  readonly #hash = createHash("sha256");
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lines = "";
  #position = 0;
  /** Of entries that have bytes. */
  entries = 0;
  advisories = 0;
  /** The most recent change of any entry. */
  newest = "";

  constructor(data: FileHandle, index: FileHandle, separator: string) {
    this.#data = data;
    this.#index = index;
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
    if (this.#waitingBytes >= BUFFER) await this.#flush();
  }

  async append(entry: IndexEntry, bytes: Buffer): Promise<void> {
    if (entry.length > 0) {
      if (this.entries > 0 && this.#separator.length > 0) await this.write(this.#separator);
      await this.write(bytes);
    }
    await this.note(entry);
  }

  /** Says what the bytes are that were or will be copied. */
  async note(entry: IndexEntry): Promise<void> {
    if (entry.length > 0) {
      this.entries++;
      if (entry.time > this.newest) this.newest = entry.time;
    }
    this.advisories += entry.uids.length;
    this.#lines += indexLine(entry);
    if (this.#lines.length >= BUFFER) await this.#flushIndex();
  }

  /** @param isFirst whether nothing but the head is there yet */
  async copy(from: FileHandle, { start, length }: Run, isFirst: boolean): Promise<void> {
    if (!isFirst && this.#separator.length > 0) await this.write(this.#separator);
    for (let at = start; at < start + length; ) {
      const buffer = Buffer.allocUnsafe(Math.min(BUFFER, start + length - at));
      const { bytesRead } = await from.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) throw new Error("a feed's file is shorter than its index says");
      at += bytesRead;
      await this.write(buffer.subarray(0, bytesRead));
    }
  }

  async flushIndex(): Promise<void> {
    await this.#flushIndex();
  }

  /** @returns SHA-256 of all that was written */
  async end(): Promise<string> {
    await this.#flush();
    await this.#flushIndex();
    return this.#hash.digest("base64url");
  }

  async #flush(): Promise<void> {
    const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    if (bytes.length > 0) await this.#data.writeFile(bytes);
  }

  async #flushIndex(): Promise<void> {
    const lines = this.#lines;
    this.#lines = "";
    if (lines !== "") await this.#index.writeFile(lines);
  }
}
