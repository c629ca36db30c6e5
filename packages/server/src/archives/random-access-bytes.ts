/**
 * Reads bytes by position through two windows. A zip archive is read forward in two places at the same time: in the
 * directory at the end and in the content at the front.
 */
import type { FileHandle } from "node:fs/promises";
import type { FallibleBytes } from "./limits.ts";

/** Resolves with fewer bytes only at the end of the source. */
export type ReadBytes = (position: number, length: number) => Promise<Buffer>;

const WINDOW_BYTES = 256 * 1024;

interface Window {
  readonly start: number;
  readonly bytes: Buffer;
}

const EMPTY: Window = { start: 0, bytes: Buffer.alloc(0) };

export class RandomAccessBytes implements FallibleBytes {
  readonly size: number;
  readonly #read: ReadBytes;
  #failure: unknown;
  /** The most recently used window comes first. */
  #windows: readonly [Window, Window] = [EMPTY, EMPTY];

  constructor(read: ReadBytes, size: number) {
    this.#read = read;
    this.size = size;
  }

  get failure(): unknown {
    return this.#failure;
  }

  /** Shorter at the end. */
  async bytesAt(position: number, length: number): Promise<Buffer> {
    const [first, second] = this.#windows;
    const window = [first, second].find((known) => covers(known, position, length)) ?? (await this.#load(position, length));
    if (window !== first) this.#windows = [window, first];
    return window.bytes.subarray(position - window.start, position - window.start + length);
  }

  /** @param end exclusive */
  async *chunks(start: number, end: number): AsyncGenerator<Buffer> {
    for (let position = start; position < end; position += WINDOW_BYTES) {
      const chunk = await this.bytesAt(position, Math.min(WINDOW_BYTES, end - position));
      if (chunk.length === 0) return;
      yield chunk;
    }
  }

  async #load(start: number, length: number): Promise<Window> {
    const available = Math.max(0, Math.min(Math.max(length, WINDOW_BYTES), this.size - start));
    if (available === 0) return { start, bytes: EMPTY.bytes };
    try {
      return { start, bytes: await this.#read(start, available) };
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }
}

/** @param size of the file. The caller closes the handle. */
export function fileBytes(handle: FileHandle, size: number): RandomAccessBytes {
  return new RandomAccessBytes(async (position, length) => {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }, size);
}

function covers({ start, bytes }: Window, position: number, length: number): boolean {
  return position >= start && position + length <= start + bytes.length;
}
