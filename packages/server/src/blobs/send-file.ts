/** Writes a piece of a file to a stream through a few buffers that are used again: a stream of its own would make a new one for each read. Knows no blobs. */
import { read as readFd } from "node:fs";
import type { Writable } from "node:stream";
import { promisify } from "node:util";
import { giveBack, takeBuffer } from "./buffers.ts";

/** Whoever reads left before the end. */
export class ReaderLeft extends Error {
  override readonly name = "ReaderLeft";
}

/**
 * Resolves when all bytes are handed over and the stream is ended; where it rejects, the stream is left as it is. The file is neither closed nor
 * used any more then. While one buffer is on its way out, the next is filled.
 * @param start of the first byte, @param end of the last
 * @throws ReaderLeft; an error where the file is shorter than that
 */
export async function sendFile(fd: number, start: number, end: number, to: Writable): Promise<void> {
  using out = new Output(to);
  const buffers: Buffer[] = [];
  let written: Promise<void> = Promise.resolve();
  for (let at = start, turn = 0; at <= end; turn = 1 - turn) {
    buffers[turn] ??= takeBuffer();
    const buffer = buffers[turn]!;
    const { bytesRead } = await read(fd, buffer, 0, Math.min(buffer.length, end - at + 1), at);
    await written;
    if (bytesRead === 0) throw new Error(`the file ends after ${at} bytes and not after ${end + 1}`);
    at += bytesRead;
    written = out.write(buffer.subarray(0, bytesRead));
    // It is awaited after the next read.
    written.catch(() => {});
    // At once, so that a short answer leaves as one packet.
    if (at > end) to.end();
  }
  await written;
  // Not where it failed: nobody can say then whether the stream still holds one.
  for (const buffer of buffers) giveBack(buffer);
}

/** Writes one piece at a time, and notices that nobody is there any more: of such a write, the stream may never say that it is done. */
class Output implements Disposable {
  readonly #to: Writable;
  readonly #leave = () => {
    this.#hasLeft = true;
    this.#reject?.(new ReaderLeft());
  };
  #reject: ((error: Error) => void) | undefined;
  #hasLeft: boolean;

  constructor(to: Writable) {
    this.#to = to;
    this.#hasLeft = to.destroyed;
    to.on("close", this.#leave).on("error", this.#leave);
  }

  write(piece: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#hasLeft) return reject(new ReaderLeft());
      this.#reject = reject;
      this.#to.write(piece, (error) => (error ? reject(new ReaderLeft()) : resolve()));
    });
  }

  [Symbol.dispose](): void {
    this.#to.removeListener("close", this.#leave).removeListener("error", this.#leave);
    // One that comes later is the reader's leaving, too, and nobody else listens.
    this.#to.on("error", () => {});
  }
}

const read = promisify(readFd);
