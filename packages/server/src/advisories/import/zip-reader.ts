/** A file as archives are read: by position, mostly forward, in two places at once (the directory at its end, the content at its front). */
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { RandomAccessReader } from "yauzl";

const WINDOW = 256 * 1024;

interface Window {
  start: number;
  bytes: Buffer;
}

export class ZipReader extends RandomAccessReader {
  readonly #handle: FileHandle;
  readonly size: number;
  /** The one that was used last is first. */
  #windows: [Window, Window] = [
    { start: 0, bytes: Buffer.alloc(0) },
    { start: 0, bytes: Buffer.alloc(0) },
  ];

  constructor(handle: FileHandle, size: number) {
    super();
    this.#handle = handle;
    this.size = size;
  }

  /** Shorter where the file ends before. */
  async bytesAt(position: number, length: number): Promise<Buffer> {
    const [first, second] = this.#windows;
    if (!covers(first, position, length)) {
      this.#windows = [second, first];
      if (!covers(second, position, length)) await this.#fill(second, position, Math.max(length, WINDOW));
    }
    const { start, bytes } = this.#windows[0];
    return bytes.subarray(position - start, position - start + length);
  }

  async #fill(window: Window, position: number, length: number): Promise<void> {
    const wanted = Math.max(0, Math.min(length, this.size - position));
    const buffer = Buffer.allocUnsafe(wanted);
    let filled = 0;
    while (filled < wanted) {
      const { bytesRead } = await this.#handle.read(buffer, filled, wanted - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    window.start = position;
    window.bytes = buffer.subarray(0, filled);
  }

  async *pieces(start: number, end: number): AsyncGenerator<Buffer> {
    for (let position = start; position < end; position += WINDOW) {
      const piece = await this.bytesAt(position, Math.min(WINDOW, end - position));
      if (piece.length === 0) return;
      yield piece;
    }
  }

  override read(target: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    this.bytesAt(position, length).then(
      (bytes) => {
        bytes.copy(target, offset);
        callback(bytes.length < length ? new Error("it ends too early") : null);
      },
      (error: Error) => callback(error),
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.pieces(start, end), { objectMode: false });
  }
}

function covers({ start, bytes }: Window, position: number, length: number): boolean {
  return position >= start && position + length <= start + bytes.length;
}
