/** Reads a zip archive where it lies. A piece of it is kept: the entries of a directory are read one after the other, each in a few bytes. */
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { RandomAccessReader } from "yauzl";
import type { ByteRange } from "../blobs/store.ts";

export type ReadRange = (range: ByteRange) => Promise<Readable>;

const WINDOW = 256 * 1024;

export class WindowReader extends RandomAccessReader {
  readonly #read: ReadRange;
  readonly #size: number;
  #start = 0;
  #window = Buffer.alloc(0);
  /** Why the bytes themselves could not be read, which is not the archive's fault. */
  failure: unknown;

  constructor(read: ReadRange, size: number) {
    super();
    this.#read = read;
    this.#size = size;
  }

  override read(target: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    this.#fill(position, length).then(
      () => {
        this.#window.copy(target, offset, position - this.#start, position - this.#start + length);
        callback(null);
      },
      (error: Error) => callback(error),
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#pieces(start, end), { objectMode: false });
  }

  async *#pieces(start: number, end: number): AsyncGenerator<Buffer> {
    yield* await this.#open({ start, end: end - 1 });
  }

  async #fill(position: number, length: number): Promise<void> {
    if (position >= this.#start && position + length <= this.#start + this.#window.length) return;
    if (position < 0 || position + length > this.#size) throw new Error("it ends too early");
    const end = Math.min(position + Math.max(length, WINDOW), this.#size) - 1;
    this.#window = length === 0 ? Buffer.alloc(0) : await buffer(await this.#open({ start: position, end }));
    this.#start = position;
  }

  #open(range: ByteRange): Promise<Readable> {
    return this.#read(range).catch((error: unknown) => {
      this.failure = error;
      throw error;
    });
  }
}
