/** Writes a range of a file to a stream through two pooled buffers. A read stream would allocate a buffer per read. */
import { read as readFd } from "node:fs";
import type { Writable } from "node:stream";
import { promisify } from "node:util";
import { returnBuffer, takeBuffer } from "./buffers.ts";

/** The reader disconnected before the end. */
export class ReaderLeft extends Error {
  override readonly name = "ReaderLeft";
}

/**
 * Resolves when all bytes are written and the stream is ended. If it rejects, the stream is not ended. It does not
 * close the file. One buffer is filled while the other is written.
 * @param start offset of the first byte
 * @param end offset of the last byte
 * @throws ReaderLeft; Error if the file is too short
 */
export async function sendFile(fd: number, start: number, end: number, to: Writable): Promise<void> {
  using out = new Output(to);
  const buffers: Buffer[] = [];
  let written: Promise<void> = Promise.resolve();
  for (let at = start, index = 0; at <= end; index = 1 - index) {
    buffers[index] ??= takeBuffer();
    const buffer = buffers[index]!;
    const { bytesRead } = await read(fd, buffer, 0, Math.min(buffer.length, end - at + 1), at);
    await written;
    if (bytesRead === 0) throw new Error(`the file ends after ${at} bytes and not after ${end + 1}`);
    at += bytesRead;
    written = out.write(buffer.subarray(0, bytesRead));
    // Prevents an unhandled rejection; the write is awaited after the next read.
    written.catch(() => {});
    // Ended immediately, so that a short response is sent as one packet.
    if (at > end) to.end();
  }
  await written;
  // Only on success: after a failure the stream may still use a buffer.
  for (const buffer of buffers) returnBuffer(buffer);
}

/** Writes one chunk at a time and detects a disconnected reader, for which a stream may never call back. */
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

  write(chunk: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#hasLeft) return reject(new ReaderLeft());
      this.#reject = reject;
      this.#to.write(chunk, (error) => (error ? reject(new ReaderLeft()) : resolve()));
    });
  }

  [Symbol.dispose](): void {
    this.#to.removeListener("close", this.#leave).removeListener("error", this.#leave);
    // Handles errors of a later disconnect, since an unhandled error event ends the process.
    this.#to.on("error", () => {});
  }
}

const read = promisify(readFd);
